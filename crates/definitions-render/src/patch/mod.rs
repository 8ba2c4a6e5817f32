//! Applies a trait's `patch` to rendered objects.
//!
//! What is patched is more than data: a default such as `replicas: *1 | int` can still be chosen otherwise. So both
//! sides are read out of their evaluations as [`Tree`]s, the patch is fitted to its target by the markers in its
//! comments ([`strategic`]), and the two are unified ([`unify`]). With `jsonMergePatch` and `jsonPatch` the target is
//! taken as data, and everything in it is open afterwards ([`json`]).

mod json;
mod json_patch;
mod markers;
mod strategic;
mod text;
mod tree;
mod unify;

use cambium_cue::Diagnostic;
pub(crate) use markers::{Strategy, strategy_of};
pub(crate) use tree::{Tree, read};

/// Patches a target. What conflicts is told with its path below the target.
pub(crate) fn merge(target: Tree, patch: Tree, strategy: Strategy) -> Result<Tree, Vec<Diagnostic>> {
    match strategy {
        Strategy::JsonMergePatch => json::merge_patch(&target, &patch).map_err(|problem| vec![problem]),
        Strategy::JsonPatch => json::patch(&target, &patch).map_err(|problem| vec![problem]),
        Strategy::Unify => {
            let (mut target, mut patch) = (target, patch);
            target.open_lists();
            strategic::fit(&mut patch, &mut target);
            unify::unify(target, patch)
        }
    }
}
