//! Prints what an evaluation costs: `cargo run --release -p callgate-cel --example measure`.
use callgate_cel::{Env, Fuel, Limits, Object, Program, Type, Val};
use callgate_value::{Map, Value};
use std::hint::black_box;
use std::time::Instant;

fn map(entries: Vec<(&str, Value)>) -> Value {
    Value::Map(Map::new(entries.into_iter().map(|(key, value)| (key.into(), value)).collect()).unwrap())
}

/// The best of nine rounds, in nanoseconds a run.
#[allow(clippy::disallowed_methods)] // it measures; nothing here decides
fn time(times: u32, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        let start = Instant::now();
        for _ in 0..times {
            run();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(times));
    }
    best
}

fn main() {
    let limits = Limits::default();
    let mut env = Env::new();
    let row = Object::closed().optional("name", Type::String).required("price", Type::Number);
    env.variable("call", Object::closed().required("tool", Type::String).into());
    env.variable("args", Object::closed().required("amount", Type::Number).into());
    env.variable("result", Object::closed().required("rows", Type::list(row.into())).into());
    let compile = |source: &str| Program::compile(source, &env, Some(Type::Bool), &limits).unwrap();
    let row = || map(vec![("name", "bearing".into()), ("price", Value::Float(12.5))]);
    let rows = |count: usize| map(vec![("rows", Value::List((0..count).map(|_| row()).collect()))]);
    let call = map(vec![("tool", "pay".into())]);
    let args = map(vec![("id", Value::Int(7)), ("to", "ACME".into()), ("amount", Value::Float(250.0))]);
    let cases = [
        ("E1 call.tool == \"pay\" && args.amount > 100.0", "call.tool == \"pay\" && args.amount > 100.0", 0),
        ("E3 all over 20 rows", "result.rows.all(r, has(r.name) && r.price > 0.0)", 20),
        ("E6 all over 200 rows", "result.rows.all(r, has(r.name) && r.price > 0.0)", 200),
        ("E1 beside 10,000 rows", "call.tool == \"pay\" && args.amount > 100.0", 10_000),
    ];
    for (name, source, count) in cases {
        let program = compile(source);
        let result = rows(count);
        let values = vec![Val::from(&call), Val::from(&args), Val::from(&result)];
        let taken = time(20_000 / (count.clamp(1, 200) as u32), || {
            let mut fuel = Fuel::new(&limits);
            black_box(program.evaluate(black_box(&values), &mut fuel).unwrap());
        });
        println!("{name:<48} {taken:>10.0} ns");
    }
    let values = Value::List((0..1000).map(Value::Int).collect());
    let mut env = Env::new();
    env.variable("l", Type::Dyn);
    let deep = Limits { comprehensions: 3, ..Limits::default() };
    let program = Program::compile("l.all(a, l.all(b, l.all(c, a + b + c >= 0)))", &env, None, &deep).unwrap();
    let given = vec![Val::from(&values)];
    let taken = time(1, || {
        assert!(program.evaluate(&given, &mut Fuel::new(&deep)).is_err());
    });
    println!("{:<48} {taken:>10.0} ns", "three nested all over 1,000, until out of fuel");
    let taken = time(200, || {
        black_box(compile("call.tool == \"pay\" && args.amount > 100.0"));
    });
    println!("{:<48} {taken:>10.0} ns", "compile E1");
}
