//! Any text: no panic, and every mistake lies inside the text, on boundaries of characters.
#![no_main]
use callgate_cel::{Env, Limits, Program};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    let mut env = Env::new();
    env.unchecked();
    match Program::compile(source, &env, None, &Limits::default()) {
        Ok(program) => assert_eq!(program.source(), source),
        Err(faults) => {
            assert!(!faults.is_empty());
            for fault in faults {
                assert!(source.get(fault.span.start as usize..fault.span.end as usize).is_some(), "{fault}");
            }
        }
    }
});
