//! Snapshots: a task's state as text, and back.
use callgate_value::Digest;
use serde::{Deserialize, Serialize};

use crate::policy::Policy;
use crate::shared::Entry;
use crate::task::Task;

/// The largest counter that a snapshot may hold: 2^53.
const MOST: u64 = 1 << 53;

/// The version of the format.
const VERSION: u32 = 1;

/// The key of a task's symbols, as an array of bytes.
pub(crate) mod key {
    use callgate_value::SymbolKey;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(key: &SymbolKey, serializer: S) -> Result<S::Ok, S::Error> {
        key.to_bytes().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SymbolKey, D::Error> {
        <[u8; 16]>::deserialize(deserializer).map(SymbolKey::new)
    }
}

#[derive(Serialize)]
struct Taken<'a> {
    callgate_snapshot: u32,
    policy: &'a str,
    task: &'a Task,
}

#[derive(Deserialize)]
struct Given {
    callgate_snapshot: u32,
    policy: String,
    task: Task,
}

/// Why a snapshot cannot be resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// It is not text of this format, or it was cut or changed.
    Malformed(String),
    /// It was taken by another version of callgate.
    Version(u32),
    /// It was taken under another policy, with this digest.
    Policy(String),
}

impl std::fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed(why) => write!(f, "this is no snapshot of a task: {why}"),
            Self::Version(version) => write!(f, "the snapshot has format {version}, this version reads {VERSION}"),
            Self::Policy(digest) => write!(f, "the snapshot was taken under another policy, with digest `{digest}`"),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl Task {
    /// The state as text. Calls that are out are left behind: they count as spent, and of their effects nobody
    /// knows. Open rounds are closed in it.
    ///
    /// # Errors
    /// [`SnapshotError::Malformed`] where a number has no text, which no state of ours has.
    pub fn snapshot(&self, policy: &Policy) -> Result<String, SnapshotError> {
        self.snapshot_with(policy, self.shared.entries_of(self.scope()))
    }

    /// The same, with the ledger's entries of the task as they stand where it shares them; of others it takes none along.
    ///
    /// # Errors
    /// [`SnapshotError::Malformed`] where a number has no text, which no state of ours has.
    pub fn snapshot_with(&self, policy: &Policy, entries: Vec<Entry>) -> Result<String, SnapshotError> {
        let mut state = self.clone();
        for session in 0..state.sessions.len() {
            state.close_round(policy, session);
        }
        state.revival = self.revival(entries);
        let taken = Taken { callgate_snapshot: VERSION, policy: &policy.digest, task: &state };
        let body = serde_json::to_string(&taken).map_err(|error| SnapshotError::Malformed(error.to_string()))?;
        // a cut or changed text is found out by its digest; whoever wants to forge one can make a digest too
        Ok(format!("{}\n{body}", Digest::of(body.as_bytes()).to_hex()))
    }

    /// The task that a snapshot was taken of, in its next generation.
    ///
    /// # Errors
    /// [`SnapshotError`]; `any_policy` lets a snapshot of another policy through.
    pub fn resume(policy: &Policy, text: &str, any_policy: bool) -> Result<Self, SnapshotError> {
        let mut task = Self::resume_apart(policy, text, any_policy)?;
        task.with_own(|task, own| task.revive(own));
        Ok(task)
    }

    /// The same, for a host that lets it [`Task::revive`] itself, once it is known what it shares.
    ///
    /// # Errors
    /// As of [`Task::resume`].
    pub fn resume_apart(policy: &Policy, text: &str, any_policy: bool) -> Result<Self, SnapshotError> {
        let (digest, body) = text.split_once('\n').unwrap_or_default();
        if Digest::of(body.as_bytes()).to_hex() != digest {
            return Err(SnapshotError::Malformed("it was cut or changed, or is none".to_owned()));
        }
        let given: Given = serde_json::from_str(body).map_err(|error| SnapshotError::Malformed(error.to_string()))?;
        if given.callgate_snapshot != VERSION {
            return Err(SnapshotError::Version(given.callgate_snapshot));
        }
        if given.policy != policy.digest && !any_policy {
            return Err(SnapshotError::Policy(given.policy));
        }
        let mut task = given.task;
        // counters that no task of ours reaches would run over
        if [task.generation, task.next_call, task.next_round, task.next_number, task.next_claim]
            .into_iter()
            .any(|count| count > MOST)
        {
            return Err(SnapshotError::Malformed("a counter is out of range".to_owned()));
        }
        task.generation = task.generation.saturating_add(1);
        task.index();
        Ok(task)
    }

    /// Tells this task from others of the same id: made from its random key, which it does not give away.
    #[must_use]
    pub fn lineage(&self) -> String {
        Digest::of(&self.key.to_bytes()).to_hex()
    }

    /// How often the task was resumed.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }
}
