//! What is new in an outcome, and what is remembered to tell so the next time.
use crate::bounds::{make_room, CALLS, PLACES};
use crate::detect::{same_result, Observation};
use crate::incident::Novelty;
use crate::task::{LastResult, Task};

impl Task {
    /// What is new in an outcome, as far as incidents ask.
    pub(super) fn novelty(&self, seen: &Observation) -> Novelty {
        let none = Novelty { call: false, tool: false, reads: false, state: false };
        let (Some(session), Some(result)) = (self.sessions.get(seen.call.session), seen.judged.result) else {
            return none;
        };
        let call = session.last_results.get(&seen.call.loose).is_none_or(|last| {
            let same_failure = last.failure.is_some() && last.failure == seen.judged.failure;
            last.result != result && !(same_failure && last.others == seen.others)
        });
        let tool = session.last_of_tool.get(&seen.call.tool_symbol) != Some(&result);
        let reads = session.last_of_reads.get(&same_result::place(&seen.call)) != Some(&result);
        let state = seen.judged.state.is_some_and(|state| self.states.is_new(&seen.call, state));
        Novelty { call, tool, reads, state }
    }

    pub(super) fn remember(&mut self, seen: &Observation) {
        let (Some(session), Some(result)) = (self.sessions.get_mut(seen.call.session), seen.judged.result) else {
            return;
        };
        make_room(&mut session.last_results, &seen.call.loose, CALLS);
        make_room(&mut session.last_of_tool, &seen.call.tool_symbol, PLACES);
        let last = LastResult { result, failure: seen.judged.failure, others: seen.others };
        session.last_results.insert(seen.call.loose, last);
        session.last_of_tool.insert(seen.call.tool_symbol, result);
        if seen.call.is_read() {
            make_room(&mut session.last_of_reads, &same_result::place(&seen.call), PLACES);
            session.last_of_reads.insert(same_result::place(&seen.call), result);
        }
    }
}
