//! The JSON reader and writer: what is exact, what is refused and where, and that nothing brings them down.
use callgate_value::{
    canonical_json, read_json, read_json_with, to_json, write_float, ReadErrorKind as Kind, ReadLimits, Value,
};
use std::path::PathBuf;

/// The folder of data that lies beside the checkout, if it is there.
fn shared() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let folder = std::env::var_os("CALLGATE_SHARED").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    if folder.join("jcs").is_dir() {
        return Some(folder);
    }
    println!("skipped: no data at `{}`; set CALLGATE_SHARED to the folder that holds it", folder.display());
    None
}

#[test]
fn documents_are_written_as_rfc_8785_says() {
    let Some(folder) = shared() else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder.join("jcs/input")).unwrap() {
        let source = entry.unwrap().path();
        let expected = std::fs::read(folder.join("jcs/output").join(source.file_name().unwrap())).unwrap();
        let found = canonical_json(&read_json(&std::fs::read(&source).unwrap()).unwrap()).unwrap();
        assert_eq!(found.as_bytes(), expected, "{}", source.display());
        seen += 1;
    }
    assert_eq!(seen, 6);
}

#[test]
fn the_first_twenty_of_the_numbers_of_rfc_8785_appendix_b_are_rendered_so() {
    let cases = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
    ];
    for (bits, expected) in cases {
        let mut out = Vec::new();
        write_float(f64::from_bits(bits), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        if expected != "0" {
            let Ok(Value::Float(read)) = read_json(format!("{:e}", f64::from_bits(bits)).as_bytes()) else { panic!() };
            assert_eq!(read.to_bits(), bits, "{expected}");
        }
    }
}

#[test]
fn every_fault_has_its_place() {
    let cases = [
        ("", Kind::Unfinished, 0),
        ("  ", Kind::Unfinished, 2),
        ("[1,", Kind::Unfinished, 3),
        ("[1", Kind::Unfinished, 2),
        ("{", Kind::Unfinished, 1),
        ("{\"a\"", Kind::Unfinished, 4),
        ("{\"a\":", Kind::Unfinished, 5),
        ("\"ab", Kind::Unfinished, 3),
        ("\"ab\\", Kind::Unfinished, 4),
        ("tru", Kind::Unfinished, 3),
        ("-", Kind::Unfinished, 1),
        ("1.", Kind::Unfinished, 2),
        ("1e", Kind::Unfinished, 2),
        ("trux", Kind::ExpectedValue, 0),
        ("[,1]", Kind::ExpectedValue, 1),
        ("[1,]", Kind::ExpectedValue, 3),
        ("{\"a\":1,}", Kind::ExpectedKey, 7),
        ("{a:1}", Kind::ExpectedKey, 1),
        ("{\"a\" 1}", Kind::ExpectedColon, 5),
        ("[1 2]", Kind::ExpectedCommaOrEnd, 3),
        ("[1}", Kind::ExpectedCommaOrEnd, 2),
        ("1 2", Kind::Trailing, 2),
        ("01", Kind::BadNumber, 0),
        ("-01", Kind::BadNumber, 1),
        ("-x", Kind::BadNumber, 1),
        ("1.x", Kind::BadNumber, 2),
        ("1ex", Kind::BadNumber, 2),
        ("+1", Kind::ExpectedValue, 0),
        (".5", Kind::ExpectedValue, 0),
        ("1e309", Kind::NumberTooLarge, 0),
        ("-Infinity", Kind::NonFinite, 1),
        ("\"a\nb\"", Kind::ControlCharacter, 2),
        ("\"\\x\"", Kind::BadEscape, 1),
        ("\"\\u12g4\"", Kind::BadEscape, 1),
        ("\"\\u12", Kind::BadEscape, 1),
        ("\u{FEFF}1", Kind::ByteOrderMark, 0),
        ("{\"a\":{\"b\":1},\"c\":2,\"a\":3}", Kind::DuplicateKey, 19),
    ];
    for (text, kind, offset) in cases {
        let error = read_json(text.as_bytes()).unwrap_err();
        assert_eq!((error.kind, error.offset), (kind, offset), "{text:?}");
    }
    assert_eq!(read_json(b"[\"\xFF\"]").map_err(|error| (error.kind, error.offset)).err(), Some((Kind::NotUtf8, 2)));
    // a surrogate as bytes is no UTF-8; as an escape it is read
    assert_eq!(read_json(b"\"\xED\xA0\x80\"").map_err(|error| error.kind).err(), Some(Kind::NotUtf8));
}

#[test]
fn limits_hold_at_their_edge() {
    let limits = ReadLimits { depth: 2, bytes: 12, values: 4, digits: 3, non_finite: true };
    for text in ["[[1]]", "[1,2,3]", "999", "[1,2,3     ]", "-Infinity", "[NaN]"] {
        assert!(read_json_with(text.as_bytes(), limits).is_ok(), "{text}");
    }
    let refused = [
        ("[[[]]]", Kind::TooDeep),
        ("[1,2,3,4]", Kind::TooManyValues),
        ("1000", Kind::TooManyDigits),
        ("[1,2,3      ]", Kind::TooLong),
    ];
    for (text, kind) in refused {
        assert_eq!(read_json_with(text.as_bytes(), limits).unwrap_err().kind, kind, "{text}");
    }
}

#[test]
fn hundreds_of_thousands_of_brackets_need_little_stack() {
    let read = || {
        let deepest = ReadLimits { depth: usize::MAX, ..ReadLimits::default() };
        ["[", "{\"a\":", "[{\"a\":"]
            .map(|open| read_json_with(open.repeat(200_000).as_bytes(), deepest).unwrap_err().kind)
    };
    let found = std::thread::Builder::new().stack_size(512 * 1024).spawn(read).unwrap().join().unwrap();
    assert_eq!(found, [Kind::TooDeep; 3]);
}

#[test]
fn any_bytes_are_read_or_refused() {
    let seeds: [&[u8]; 4] = [
        br#"{"a":[1,-2.5e3,"\u00e9\ud83d\ude00\n"],"b":{"c":null,"d":true}}"#,
        b"[[[],{}],\"\\\\\",123456789012345678901234567890]",
        "{\"\u{1F600}\u{D7FF}\":\"\u{E000}\"}".as_bytes(),
        b"\"\\ud800\\ud800\\udc00\\udc00\"",
    ];
    for seed in seeds {
        for at in 0..seed.len() {
            let _ = read_json(&seed[..at]);
            for byte in [0, b'"', b'\\', b'{', b']', b'u', b'0', b'e', 0x80, 0xED, 0xFF] {
                let mut text = seed.to_vec();
                text[at] = byte;
                if let Ok(value) = read_json(&text) {
                    let written = to_json(&value);
                    let again = read_json(written.as_bytes()).unwrap();
                    assert_eq!(canonical_json(&again), canonical_json(&value), "{written}");
                }
            }
        }
    }
}
