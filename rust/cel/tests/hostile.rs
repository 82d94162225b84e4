//! Input made to hang, crash or eat memory: on a stack of 512 KiB each gives an error, and nothing worse.
use callgate_cel::{Code, Env, ErrorKind, Fuel, Limits, Nothing, Program, Type, Val};
use callgate_value::{Map, Text, Value};

/// Runs `test` on a thread with a small stack.
fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(512 * 1024).spawn(test).unwrap().join().unwrap();
}

fn faults(source: &str, limits: &Limits) -> Vec<Code> {
    let mut env = Env::new();
    env.variable("x", Type::Dyn);
    let mut codes: Vec<Code> = match Program::compile(source, &env, None, limits) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(|fault| fault.code).collect(),
    };
    codes.dedup();
    codes
}

/// The error of an expression over one value.
fn error(source: &str, value: &Value, limits: &Limits) -> ErrorKind {
    let mut env = Env::new();
    env.variable("x", Type::Dyn);
    let program = Program::compile(source, &env, None, limits).unwrap();
    program
        .evaluate(&vec![Val::from(value)], &mut Fuel::new(limits))
        .map(|value| format!("{value:?}"))
        .unwrap_err()
        .kind
}

/// The result of an expression over one value.
fn truth(source: &str, value: &Value) -> bool {
    let limits = Limits::default();
    let mut env = Env::new();
    env.variable("x", Type::Dyn);
    let program = Program::compile(source, &env, Some(Type::Bool), &limits).unwrap();
    program.evaluate(&vec![Val::from(value)], &mut Fuel::new(&limits)).unwrap().as_bool().unwrap()
}

fn numbers(count: i64) -> Value {
    Value::List((0..count).map(Value::Int).collect())
}

#[test]
fn a_source_of_100_kb_is_refused() {
    on_small_stack(|| {
        let source = format!("x == \"{}\"", "a".repeat(100_000));
        assert_eq!(faults(&source, &Limits::default()), [Code::TooLarge]);
    });
}

#[test]
fn ten_thousand_brackets_of_any_kind_are_refused_as_too_deep_even_where_the_source_may_be_large() {
    on_small_stack(|| {
        let limits = Limits { source: 1 << 20, nodes: 1 << 20, ..Limits::default() };
        for (open, close) in [("(", ")"), ("[", "]"), ("{1:", "}"), ("x[", "]"), ("size(", ")"), ("x.all(y, ", ")")] {
            let source = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
            assert_eq!(faults(&source, &limits), [Code::TooLarge], "{open}");
            assert_eq!(faults(&open.repeat(10_000), &limits), [Code::TooLarge], "{open}");
        }
        for (repeated, last) in [("!", "true"), ("-", "x"), ("true ? true : ", "true"), ("x.", "x"), ("1 < ", "1")] {
            assert_eq!(faults(&format!("{}{last}", repeated.repeat(10_000)), &limits), [Code::TooLarge], "{repeated}");
        }
    });
}

#[test]
fn fifty_thousand_alternatives_are_refused_by_their_number_and_run_flat_where_they_are_allowed() {
    on_small_stack(|| {
        let source = vec!["false"; 50_000].join("||");
        let large = Limits { source: 1 << 20, ..Limits::default() };
        assert_eq!(faults(&source, &large), [Code::TooLarge]);
        let larger = Limits { source: 1 << 20, nodes: 100_000, ..Limits::default() };
        let program = Program::compile(&source, &Env::new(), None, &larger).unwrap();
        assert_eq!(program.evaluate(&Nothing, &mut Fuel::new(&larger)).unwrap().as_bool(), Some(false));
        let sum = Program::compile(&vec!["1"; 20_000].join("+"), &Env::new(), None, &larger).unwrap();
        assert!(matches!(sum.evaluate(&Nothing, &mut Fuel::new(&larger)).unwrap(), Val::Int(20_000)));
    });
}

#[test]
fn the_deepest_expression_that_is_allowed_fits_on_the_stack() {
    on_small_stack(|| {
        let limits = Limits::default();
        let mut env = Env::new();
        env.variable("x", Type::Dyn);
        // each shape is put into itself until it is too deep; the last one that was not is evaluated
        for shape in [
            "[$][0]",
            "{'a': $}.a",
            "x && !!($)",
            "x || false || !!!!($)",
            "(x ? $ : false)",
            "dyn($)",
            "[$, x][?0].orValue(x)",
            "optional.of(x).optMap(y, y && ($)).value()",
            "cel.bind(y, x, $)",
            "(x == $)",
            "(x in [$])",
            "'%s'.format([$]).contains('u')",
            "[x, x].all(y, $)",
        ] {
            let mut deepest = None;
            let mut source = "x".to_owned();
            for _ in 0..100 {
                match Program::compile(&source, &env, None, &limits) {
                    Ok(program) => deepest = Some(program),
                    Err(faults) => {
                        assert_eq!(faults[0].code, Code::TooLarge, "{shape}");
                        break;
                    }
                }
                source = shape.replace('$', &source);
            }
            let values = vec![Val::Bool(true)];
            let result = deepest.unwrap().evaluate(&values, &mut Fuel::new(&limits)).map(|value| value.as_bool());
            assert_eq!(result, Ok(Some(true)), "{shape}");
        }
    });
}

#[test]
fn three_nested_comprehensions_are_refused_and_run_out_of_fuel_where_they_are_allowed() {
    on_small_stack(|| {
        let source = "x.all(a, x.all(b, x.all(c, a + b + c >= 0)))";
        assert_eq!(faults(source, &Limits::default()), [Code::TooLarge]);
        let limits = Limits { comprehensions: 3, ..Limits::default() };
        assert_eq!(error(source, &numbers(1_000), &limits), ErrorKind::OutOfFuel);
        assert_eq!(error("x.all(a, x.all(b, a + b >= 0))", &numbers(1_000), &Limits::default()), ErrorKind::OutOfFuel);
    });
}

#[test]
fn no_absorption_hides_a_bound_that_was_hit() {
    let source = "x.all(a, x.all(b, a + b >= 0)) || true";
    assert_eq!(error(source, &numbers(1_000), &Limits::default()), ErrorKind::OutOfFuel);
    let source = "x.exists(a, x.all(b, a + b >= 0) ? false : false) || x.exists(a, true)";
    assert_eq!(error(source, &numbers(1_000), &Limits::default()), ErrorKind::OutOfFuel);
}

#[test]
fn memory_is_bounded_wherever_values_grow() {
    let limits = Limits::default();
    let text = Value::from(&*"ab".repeat(400_000));
    for source in [
        "x + x",
        "x.replace('a', 'aaaa')",
        "x.split('')",
        "[x, x].join('-')",
        "x.upperAscii() + x.lowerAscii()",
        "'%s%s'.format([x, x])",
        "'%x'.format([x])",
        "bytes(x) + bytes(x)",
        "base64.encode(bytes(x))",
        "strings.quote(x) + 'x'+ x",
    ] {
        assert_eq!(error(source, &text, &limits), ErrorKind::OutOfMemory, "{source}");
    }
    let list = numbers(20_000);
    for source in ["x + x + x", "x.map(y, [y, y])", "x.map(y, {'a': y})"] {
        assert_eq!(error(source, &list, &limits), ErrorKind::OutOfMemory, "{source}");
    }
    assert_eq!(error("lists.range(1000000000000)", &Value::Null, &limits), ErrorKind::OutOfFuel);
    assert_eq!(error("x.distinct()", &numbers(5_000), &limits), ErrorKind::OutOfFuel);
}

#[test]
fn pathological_patterns_are_refused_or_run_in_linear_time() {
    on_small_stack(|| {
        let limits = Limits { source: 1 << 20, ..Limits::default() };
        assert_eq!(faults("x.matches('(((a{100}){100}){100}){100}')", &limits), [Code::BadPattern]);
        assert_eq!(faults(r"x.matches('(\\w{50}){50}')", &limits), [Code::BadPattern]);
        assert_eq!(
            faults(&format!("x.matches('{}a{}')", "(".repeat(5_000), ")".repeat(5_000)), &limits),
            [Code::BadPattern]
        );
        assert_eq!(faults("x.matches('(a')", &limits), [Code::BadPattern]);
        assert_eq!(faults("x.matches(x)", &limits), [Code::DynamicPattern]);
        assert!(!truth("x.matches('^(a+)+$')", &Value::from(&*format!("{}!", "a".repeat(50_000)))));
        assert_eq!(
            error("x.matches('a?b')", &Value::from(&*"a".repeat(1_000_000)), &Limits::default()),
            ErrorKind::OutOfFuel
        );
    });
}

/// Lists inside lists; dropped on the large stack of the test, as a host with such data would have to.
fn nested(depth: usize) -> Value {
    let mut value = Value::List(vec![Value::Int(1)]);
    for _ in 0..depth {
        value = Value::List(vec![value]);
    }
    value
}

#[test]
fn data_ten_thousand_levels_deep_is_an_error_where_it_is_walked_and_no_crash() {
    std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(|| {
            let deep: &'static Value = Box::leak(Box::new(nested(10_000)));
            on_small_stack(move || {
                let limits = Limits::default();
                for source in ["x == x", "x in [x]", "[x].distinct() == [x, x].distinct()", "'%s'.format([x])"] {
                    assert_eq!(error(source, deep, &limits), ErrorKind::TooDeep, "{source}");
                }
                assert_eq!(error("x.flatten(100000) == []", deep, &limits), ErrorKind::TooDeep);
                assert!(truth("size(x) == 1 && x.all(y, size(y) == 1)", deep));
                let copied = Val::from(deep).to_value(&mut Fuel::new(&limits)).unwrap_err();
                assert_eq!(copied.kind, ErrorKind::TooDeep);
            });
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn a_nul_is_a_character_like_any_other() {
    on_small_stack(|| {
        let text = Value::from("a\0b");
        assert!(truth(r#"x == "a\000b" && size(x) == 3 && x != "a" && x.endsWith("b") && x.contains("\x00")"#, &text));
        assert!(truth("x.matches('^a.b$')", &text));
        assert_eq!(faults("x == 'a\0b'", &Limits::default()), []);
        assert_eq!(faults("x \0 == 1", &Limits::default()), [Code::Syntax]);
    });
}

#[test]
fn text_with_lone_surrogates_is_an_error_wherever_it_is_looked_at() {
    on_small_stack(|| {
        let lone = || Value::Str(Text::Surrogates(b"a\xed\xa0\x80"[..].into()));
        let limits = Limits::default();
        for source in [
            "x == 'a'",
            "x != 'a'",
            "x + 'a'",
            "size(x)",
            "x in ['a']",
            "x.contains('a')",
            "type(x)",
            "string(x)",
            "{x: 1}",
        ] {
            assert_eq!(error(source, &lone(), &limits), ErrorKind::NotUnicode, "{source}");
        }
        let holder = Value::Map(Map::new(vec![("a".into(), lone()), ("b".into(), Value::Int(1))]).unwrap());
        assert!(truth("has(x.a) && x.b == 1 && size(x) == 2", &holder));
        assert_eq!(error("x == {'a': 'a', 'b': 1}", &holder, &limits), ErrorKind::NotUnicode);
        let key = Value::Map(Map::new(vec![(Text::Surrogates(b"\xed\xa0\x80"[..].into()), Value::Int(1))]).unwrap());
        assert_eq!(error("x.map(k, k)", &key, &limits), ErrorKind::NotUnicode);
        assert!(truth("size(x) == 1 && !('a' in x)", &key));
    });
}

#[test]
fn integers_beyond_64_bits_compare_as_numbers_and_refuse_everything_else() {
    let big = |digits: &str| Value::BigInt(digits.into());
    let huge = big("123456789012345678901234567890");
    assert!(truth("x > 9223372036854775807 && x > 18446744073709551615u && x > 1e29 && x < 1e30 && x != 1", &huge));
    assert!(truth("x == x && x != 'a' && !(x in [1, 2.0])", &huge));
    assert!(truth("x < -9223372036854775807 && x > -1e30", &big("-123456789012345678901234567890")));
    // what fits into an unsigned integer is one
    assert!(truth("x == 18446744073709551615u && type(x) == uint", &big("18446744073709551615")));
    assert!(truth("string(x) == '123456789012345678901234567890' && double(x) > 1e29", &huge));
    for source in ["x + 1", "x % 2", "int(x)", "type(x)"] {
        assert_eq!(error(source, &huge, &Limits::default()), ErrorKind::Overflow, "{source}");
    }
}

#[test]
fn numbers_that_round_to_one_double_are_sorted_by_their_exact_values() {
    // 2^53 and its neighbours as ints and doubles: compared as the language does, 2^53 + 1 equals the double 2^53
    let big = 1_i64 << 53;
    let mut values = Vec::new();
    for step in 0..200_i64 {
        let at = big + (step * 7) % 20 - 10;
        values.push(Value::Int(at));
        values.push(Value::Float((at - at % 2) as f64));
        values.push(if step % 50 == 0 { Value::Float(f64::NAN) } else { Value::Int(at + 1) });
    }
    let list = Value::List(values);
    let mut env = Env::new();
    env.variable("x", Type::Dyn);
    let limits = Limits::default();
    let program = Program::compile("x.sort()", &env, None, &limits).unwrap();
    let given = vec![Val::from(&list)];
    let Val::List(sorted) = program.evaluate(&given, &mut Fuel::new(&limits)).unwrap() else { panic!("no list") };
    let exact: Vec<Option<i64>> = sorted
        .iter()
        .map(|value| match value {
            Val::Int(value) => Some(value),
            Val::Double(value) => (!value.is_nan()).then_some(value as i64),
            other => panic!("{other:?}"),
        })
        .collect();
    let numbers: Vec<i64> = exact.iter().copied().flatten().collect();
    assert!(numbers.is_sorted() && numbers.len() == 596, "{numbers:?}");
    assert_eq!(exact[596..], [None; 4]);
    let huge = Value::BigInt("123456789012345678901".into());
    assert_eq!(error("[x, 1].sort()", &huge, &Limits::default()), ErrorKind::Overflow);
}

#[test]
fn garbage_never_panics() {
    on_small_stack(|| {
        // every prefix and every middle of an expression with all kinds of syntax in it, and each with a byte turned
        let whole = r#"has(a.b) && x.map(y, y > 1, [?y.?z[?0], {"k": b'\x00', ?1u: -2.5e3}]) || !f(r'\d', """q""") ? .a.`b-c` : 0x1F // end"#;
        let limits = Limits::default();
        let env = Env::new();
        let marks =
            ['(', ')', '[', ']', '{', '}', '?', ':', '.', ',', '"', '\'', '\\', '`', '-', '=', 'é', '\0', 'b', '1'];
        for start in 0..whole.len() {
            for end in (start + 1)..=whole.len() {
                if end - start < 20 || start == 0 {
                    let _ = Program::compile(&whole[start..end], &env, None, &limits);
                }
            }
            for mark in marks {
                let turned = format!("{}{mark}{}", &whole[..start], &whole[start + 1..]);
                let _ = Program::compile(&turned, &env, None, &limits);
            }
        }
    });
}
