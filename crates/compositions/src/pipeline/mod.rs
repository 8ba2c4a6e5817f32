//! A pipeline of composition functions: which function to call with which request, and the result.
//!
//! ```text
//!  steps, what is there, credentials ─► Run ─► Next::Call ── the function's answer ──┐
//!                                        ▲     Next::Need ── what there is of it ────┤
//!                                        └───────────────────────────────────────────┘
//!                                              Next::Done ─► wanted, report
//!                                              Next::Failed
//! ```
//!
//! Nobody is called here: whoever carries a run calls, fetches, and tells it what came of that.

mod outcome;
mod run;
mod step;

pub use outcome::{observed, report, wanted};
pub use run::{Done, Failed, Found, Next, Run};
pub use step::{Credential, Step};

pub(crate) use step::read;
