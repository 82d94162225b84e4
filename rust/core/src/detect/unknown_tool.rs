//! `unknown_tool`: a tool that does not exist, called again.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::tally::Tally;
use super::{counted, Before, Detector, Dispatch, Observation, Remarks};
use crate::bounds::{make_room, PLACES};
use crate::call::Call;
use crate::policy::Resets;
use crate::verdict::{Finding, IncidentKey};
use crate::Reason;

/// Counts by tool since its last success.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct UnknownTool {
    tools: FxHashMap<u64, Tally>,
}

impl Detector for UnknownTool {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = before.thresholds.unknown_tool.as_ref()?;
        let tally = self.tools.get(&call.tool_symbol)?;
        tally.refuses(rungs, before.now).then(|| {
            let incident = IncidentKey::Tool { session: call.session, tool: call.tool_symbol };
            Finding::refuse(Reason::UnknownTool, counted(tally.count, rungs.refuse_after)).within(incident)
        })
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        if let (Some(tally), Some(rungs)) = (self.tools.get_mut(&call.tool_symbol), &judged_by.unknown_tool) {
            tally.dispatched(rungs, now, call);
        }
    }

    fn returned(&mut self, call: &Call) {
        if let Some(tally) = self.tools.get_mut(&call.tool_symbol) {
            tally.returned(call);
        }
    }

    /// Fed with outcomes of that type, and with successes.
    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        if seen.succeeded() {
            self.tools.remove(&seen.call.tool_symbol);
            return;
        }
        if &*seen.judged.kind != "unknown_tool" {
            return;
        }
        make_room(&mut self.tools, &seen.call.tool_symbol, PLACES);
        let tally = self.tools.entry(seen.call.tool_symbol).or_default();
        tally.add(seen.at);
        remarks.count(Reason::UnknownTool, seen, |by| by.unknown_tool.as_ref(), tally.count);
    }

    fn reset(&mut self, resets: Resets) {
        if resets.errors {
            self.tools.clear();
        }
    }
}

impl UnknownTool {
    /// A call of an undeclared tool was refused.
    pub(crate) fn refused(&mut self, call: &Call, now: f64) {
        make_room(&mut self.tools, &call.tool_symbol, PLACES);
        self.tools.entry(call.tool_symbol).or_default().add(now);
    }
}
