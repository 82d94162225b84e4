//! Fingerprints of calls, digests of values, and the keyed 64-bit symbols that detectors compare.
use std::cell::Cell;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::canonical::{write_loosened, Loosening};
use crate::escape::hex;
use crate::{NoCanonical, Value};

/// What a fingerprint's preimage starts with: the version of the canonical profile.
/// Then come the tool's name, `:` and the canonical arguments.
pub const FINGERPRINT_PREFIX: &str = "callgate/1:";

/// What the preimage of a single value's digest starts with, so that it equals no fingerprint.
pub const DIGEST_PREFIX: &str = "callgate/1#";

/// A SHA-256; shown as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The SHA-256 of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut digest = [0; 32];
        digest.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref());
        Self(digest)
    }

    /// 64 lower-case hex digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.hex_bytes().map(char::from).iter().collect()
    }

    /// The same digits as ASCII bytes.
    #[must_use]
    pub fn hex_bytes(&self) -> [u8; 64] {
        let mut out = [0; 64];
        for (pair, byte) in out.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[hex(byte >> 4), hex(byte & 0xF)]);
        }
        out
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digest({})", self.to_hex())
    }
}

/// The fingerprint of a call: SHA-256 of `callgate/1:` + tool + `:` + canonical JSON of the arguments.
///
/// ```
/// use callgate_value::{fingerprint, Digest, Map, Value};
/// let arguments = Value::Map(Map::new(vec![("q".into(), Value::Int(1))]).unwrap());
/// assert_eq!(fingerprint("grep", &arguments).unwrap(), Digest::of(br#"callgate/1:grep:{"q":1}"#));
/// ```
///
/// # Errors
/// [`NoCanonical`]; lifted arguments never have that.
pub fn fingerprint(tool: &str, arguments: &Value) -> Result<Digest, NoCanonical> {
    with_buffer(|buffer| {
        start_fingerprint(tool, buffer);
        write_loosened(arguments, Loosening::default(), buffer)?;
        Ok(Digest::of(buffer))
    })
}

/// Writes the part of a fingerprint's preimage that stands before the canonical arguments.
pub fn start_fingerprint(tool: &str, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(FINGERPRINT_PREFIX.as_bytes());
    buffer.extend_from_slice(tool.as_bytes());
    buffer.push(b':');
}

/// The digest of a value: SHA-256 of `callgate/1#` + its canonical JSON.
///
/// # Errors
/// [`NoCanonical`]: an opaque part equals nothing, so there is no digest to compare.
pub fn digest(value: &Value) -> Result<Digest, NoCanonical> {
    loosened_digest(value, Loosening::default())
}

/// The digest of a value after masking and without ignored fields: what two results are compared by.
///
/// # Errors
/// [`NoCanonical`], where what is left has an opaque part.
pub fn loosened_digest(value: &Value, loosening: Loosening<'_>) -> Result<Digest, NoCanonical> {
    with_buffer(|buffer| {
        buffer.extend_from_slice(DIGEST_PREFIX.as_bytes());
        write_loosened(value, loosening, buffer)?;
        Ok(Digest::of(buffer))
    })
}

/// A 64-bit keyed hash that stands for a call or a result inside a task. It never leaves the task: another task's key
/// gives another symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub u64);

/// A task's key for its symbols. Whoever does not know it cannot make two calls collide.
#[derive(Clone, Copy)]
pub struct SymbolKey([u8; 16]);

impl SymbolKey {
    /// A key of these 16 random bytes.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, for a snapshot.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The symbol of a call.
    ///
    /// # Errors
    /// [`NoCanonical`]; lifted arguments never have that.
    pub fn call(&self, tool: &str, arguments: &Value) -> Result<Symbol, NoCanonical> {
        with_buffer(|buffer| {
            start_fingerprint(tool, buffer);
            write_loosened(arguments, Loosening::default(), buffer)?;
            Ok(self.bytes(buffer))
        })
    }

    /// The symbol of a value, after masking and without ignored fields.
    ///
    /// # Errors
    /// [`NoCanonical`], where what is left has an opaque part.
    pub fn value(&self, value: &Value, loosening: Loosening<'_>) -> Result<Symbol, NoCanonical> {
        with_buffer(|buffer| {
            buffer.extend_from_slice(DIGEST_PREFIX.as_bytes());
            write_loosened(value, loosening, buffer)?;
            Ok(self.bytes(buffer))
        })
    }

    /// The symbol of a string of bytes.
    #[must_use]
    pub fn bytes(&self, bytes: &[u8]) -> Symbol {
        Symbol(SipHasher13::new_with_key(&self.0).hash(bytes))
    }

    /// The symbol of several symbols in this order, such as (agent, call, result).
    #[must_use]
    pub fn join(&self, parts: &[Symbol]) -> Symbol {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        for part in parts {
            hasher.write_u64(part.0.to_le());
        }
        Symbol(hasher.finish())
    }
}

impl std::fmt::Debug for SymbolKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SymbolKey(..)")
    }
}

/// A buffer that outgrew this is given back rather than kept for the thread's next call.
const KEPT: usize = 1 << 20;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Runs `work` on an empty buffer that the thread keeps between calls. One hash over a whole text is faster than many
/// small updates. Works nested too: the inner call gets a buffer of its own.
pub fn with_buffer<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = BUFFER.take();
    buffer.clear();
    let answer = work(&mut buffer);
    if buffer.capacity() <= KEPT {
        BUFFER.set(buffer);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Map;

    #[test]
    fn the_digest_is_the_published_sha_256() {
        // FIPS 180-2, appendix B.1
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_hex(), expected);
    }

    #[test]
    fn symbols_tell_tools_arguments_and_keys_apart() {
        let arguments = Value::Map(Map::new(vec![("a".into(), Value::Int(1))]).unwrap());
        let key = SymbolKey::new([7; 16]);
        let symbol = key.call("t", &arguments).unwrap();
        assert_eq!(key.call("t", &arguments).unwrap(), symbol);
        assert_ne!(key.call("u", &arguments).unwrap(), symbol);
        assert_ne!(key.call("t", &Value::Null).unwrap(), symbol);
        assert_ne!(SymbolKey::new([8; 16]).call("t", &arguments).unwrap(), symbol);
    }

    #[test]
    fn the_order_of_joined_symbols_matters() {
        let key = SymbolKey::new([7; 16]);
        assert_ne!(key.join(&[Symbol(1), Symbol(2)]), key.join(&[Symbol(2), Symbol(1)]));
    }
}
