//! What every document has around its `spec`.
use super::declare::{model, words};
use super::reader::Named;
use super::texts::{Name, Text};

words! {
    /// The version of the policy language that the document is written in.
    code UNKNOWN_API_VERSION
    pub enum ApiVersion {
        /// The first version.
        V1 = "callgate/v1",
    }
}

model! {
    /// Who this document is: its name, its revision, who answers for it.
    pub struct Metadata {
        /// The name by which other documents refer to this one.
        pub name: Name,
        /// The author's own revision, a text such as "12". It stands in every decision log next to the digest.
        pub revision: Option<Text>,
        /// Who answers for this document.
        pub owner: Option<Text>,
        /// What it is for, in a sentence.
        pub description: Option<Text>,
        /// Labels for finding and grouping documents.
        pub labels: Option<Named<Text>>,
    }
}

/// One kind of document: its envelope around a `spec`.
macro_rules! document {
    ($(#[doc = $doc:literal])* $name:ident, $kind:ident = $word:literal, $spec:ty $(, $(#[doc = $extra_doc:literal])* $extra:ident: $extra_ty:ty)*) => {
        words! {
            /// The kind of this document.
            code UNKNOWN_KIND
            pub enum $kind {
                /// The only one here.
                Itself = $word,
            }
        }

        model! {
            $(#[doc = $doc])*
            pub struct $name {
                /// The version of the policy language: `callgate/v1`.
                pub api_version: ApiVersion = "apiVersion",
                /// The kind of this document.
                pub kind: $kind,
                /// Who this document is.
                pub metadata: Metadata,
                /// What it says.
                pub spec: $spec,
                $($(#[doc = $extra_doc])* pub $extra: $extra_ty,)*
            }
        }
    };
}

document! {
    /// Tools and what is known about them: effects, identity, results, errors, retries.
    ToolManifest, ToolManifestKind = "ToolManifest", super::manifest::ManifestSpec
}
document! {
    /// What an agent may do with its tools: budgets, detectors, rules, needs, fallbacks.
    GuardPolicy, GuardPolicyKind = "GuardPolicy", super::policy::PolicySpec,
    /// What `callgate verify` has to show about this policy. It changes no decision and is no part of the digest.
    verification: Option<super::policy::Verification>
}
document! {
    /// Which policy applies to whom.
    GuardBinding, GuardBindingKind = "GuardBinding", super::binding::BindingSpec
}
document! {
    /// A finding that is lifted for a while, by whom and why.
    GuardException, GuardExceptionKind = "GuardException", super::exception::ExceptionSpec
}
document! {
    /// A run and what the policy has to make of it. Files are named `*_test.yaml`.
    GuardTest, GuardTestKind = "GuardTest", super::guard_test::TestSpec
}
