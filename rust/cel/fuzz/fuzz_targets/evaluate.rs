//! Any text over data of all kinds: no panic, the bounds hold, observing an evaluation does not change it, and what it
//! comes to was foreseen.
#![no_main]
use callgate_cel::{Env, Fuel, Limits, Observer, Program, Seen, Span, Type, Val};
use callgate_value::{Map, Text, Value};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static DATA: LazyLock<Value> = LazyLock::new(|| {
    let list = Value::List(vec![Value::Int(1), Value::Float(2.5), "é\0😀".into(), Value::Null, Value::Bool(true)]);
    let entries = vec![
        ("i".into(), Value::Int(-7)),
        ("f".into(), Value::Float(f64::NAN)),
        ("s".into(), "a,b,2024-05-31T12:00:00Z".into()),
        ("l".into(), list),
        ("b".into(), Value::BigInt("-123456789012345678901234567890".into())),
        ("u".into(), Value::Str(Text::Surrogates(b"a\xed\xa0\x80"[..].into()))),
        ("m".into(), Value::Map(Map::new(vec![("x".into(), Value::Int(1))]).unwrap_or_default())),
    ];
    Value::Map(Map::new(entries).unwrap_or_default())
});

struct Count(u64);

impl Observer for Count {
    fn saw(&mut self, _: u32, _: Span, _: Seen) {
        self.0 += 1;
    }
}

fuzz_target!(|source: &str| {
    let limits = Limits { fuel: 20_000, memory: 1 << 18, ..Limits::default() };
    let mut env = Env::new();
    env.variable("x", Type::Dyn);
    env.variable("y", Type::Dyn);
    env.unchecked();
    env.dynamic_patterns();
    let Ok(program) = Program::compile(source, &env, None, &limits) else { return };
    let values = vec![Val::from(&*DATA), Val::Int(3)];
    let mut fuel = Fuel::new(&limits);
    let result = program.evaluate(&values, &mut fuel);
    assert!(fuel.steps_used() <= limits.fuel && fuel.memory_used() <= limits.memory);
    let mut count = Count(0);
    let watched = program.observe(&values, &mut Fuel::new(&limits), &mut count);
    assert!(count.0 <= limits.fuel);
    assert_eq!(format!("{result:?}"), format!("{watched:?}"));
    let foreseen = program.prospect(&|_| None);
    assert!(match &result {
        Ok(Val::Bool(true)) => foreseen.may_be_true,
        Ok(Val::Bool(false)) => foreseen.may_be_false,
        Ok(_) => foreseen.may_be_other,
        Err(error) => foreseen.may_err || error.kind.is_limit(),
    });
    if let Ok(value) = result {
        let _ = value.to_value(&mut fuel);
    }
});
