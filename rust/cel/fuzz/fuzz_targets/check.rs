//! Any text against typed variables: no panic, and what passes the checker for a bool gives a bool or an error.
#![no_main]
use callgate_cel::{Env, Fuel, Limits, Object, Program, Scalar, Type, Val};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    let limits = Limits { fuel: 10_000, ..Limits::default() };
    let mut env = Env::new();
    let line = Object::closed().required("s", Type::String).optional("p", Type::Number);
    let status = Type::String.one_of(vec![Scalar::String("open".into()), Scalar::String("paid".into())]);
    let object = Object::closed()
        .required("n", Type::Number)
        .required("s", Type::String)
        .optional("o", Type::Int)
        .required("u", Type::String.nullable())
        .required("e", status)
        .required("l", Type::list(line.into()));
    env.variable("a", object.into());
    env.variable("m", Type::map(Type::String, Type::Int));
    env.variable("d", Type::Dyn);
    env.later("r", "observe");
    let _ = env.function("t.f", "(string) -> int");
    match Program::compile(source, &env, Some(Type::Bool), &limits) {
        Ok(program) => {
            let nothing = callgate_cel::Nothing;
            if let Ok(value) = program.evaluate(&nothing, &mut Fuel::new(&limits)) {
                assert!(matches!(value, Val::Bool(_)), "{value:?}");
            }
        }
        Err(faults) => {
            for fault in faults {
                assert!(source.get(fault.span.start as usize..fault.span.end as usize).is_some(), "{fault}");
            }
        }
    }
});
