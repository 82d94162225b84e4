//! Integers beyond 64 bits, between Python's and decimal digits.
//!
//! Python itself refuses to turn more than 4,300 digits into text, or less if so configured; bytes it gives freely.
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyInt, PyType};

/// Digits of one integer; the conversion takes time with their square.
pub const MAX_DIGITS: usize = 10_000;
/// Bits that as many digits need at most.
const MAX_BITS: usize = 33_220;
/// The largest power of ten in 64 bits, and its exponent.
const CHUNK: u64 = 10_000_000_000_000_000_000;
const CHUNK_DIGITS: usize = 19;

/// The decimal digits of an int, with `-` where it is negative; nothing where there are more than [`MAX_DIGITS`].
pub fn digits(number: &Bound<'_, PyAny>) -> Option<String> {
    let py = number.py();
    // methods of `int` itself, whatever a subclass makes of them
    let int = PyType::new::<PyInt>(py);
    let bits: usize = int.call_method1(intern!(py, "bit_length"), (number,)).ok()?.extract().ok()?;
    if bits > MAX_BITS {
        return None;
    }
    let options = [("signed", true)].into_py_dict(py).ok()?;
    let bytes =
        int.call_method(intern!(py, "to_bytes"), (number, bits / 8 + 1, intern!(py, "little")), Some(&options)).ok()?;
    let text = decimal(bytes.cast::<PyBytes>().ok()?.as_bytes());
    (text.trim_start_matches('-').len() <= MAX_DIGITS).then_some(text)
}

/// The int of these decimal digits.
///
/// # Errors
/// What Python raises for digits that are none.
pub fn to_python<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    // Python's limit on digits does not hold for bases that are powers of two.
    PyType::new::<PyInt>(py).call1((hexadecimal(digits), 16))
}

/// Two's complement, the lowest byte first, to decimal digits.
fn decimal(bytes: &[u8]) -> String {
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut limbs: Vec<u64> = bytes
        .chunks(8)
        .map(|chunk| {
            let mut limb = if negative { [0xFF; 8] } else { [0; 8] };
            limb.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(limb)
        })
        .collect();
    if negative {
        let mut carry = true;
        for limb in &mut limbs {
            (*limb, carry) = (!*limb).overflowing_add(u64::from(carry));
        }
    }
    let mut chunks = Vec::new();
    loop {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        if limbs.is_empty() {
            break;
        }
        let mut rest = 0;
        for limb in limbs.iter_mut().rev() {
            let whole = u128::from(rest) << 64 | u128::from(*limb);
            *limb = u64::try_from(whole / u128::from(CHUNK)).unwrap_or(u64::MAX);
            rest = u64::try_from(whole % u128::from(CHUNK)).unwrap_or(0);
        }
        chunks.push(rest);
    }
    let mut text = String::from(if negative { "-" } else { "" });
    let mut chunks = chunks.iter().rev();
    text.push_str(&chunks.next().unwrap_or(&0).to_string());
    for chunk in chunks {
        text.push_str(&format!("{chunk:0CHUNK_DIGITS$}"));
    }
    text
}

/// Decimal digits to hexadecimal ones.
fn hexadecimal(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let mut limbs: Vec<u64> = Vec::new();
    for chunk in digits.as_bytes().chunks(CHUNK_DIGITS) {
        let value = chunk.iter().fold(0_u64, |value, byte| value * 10 + u64::from(byte.wrapping_sub(b'0')));
        let scale = chunk.iter().fold(1_u64, |scale, _| scale * 10);
        let mut carry = value;
        for limb in &mut limbs {
            let whole = u128::from(*limb) * u128::from(scale) + u128::from(carry);
            *limb = u64::try_from(whole & u128::from(u64::MAX)).unwrap_or(0);
            carry = u64::try_from(whole >> 64).unwrap_or(0);
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut text = sign.to_owned();
    let mut limbs = limbs.iter().rev();
    text.push_str(&format!("{:x}", limbs.next().unwrap_or(&0)));
    for limb in limbs {
        text.push_str(&format!("{limb:016x}"));
    }
    text
}
