//! Runs programs: one task, one state machine and one worker for each.

mod budget;
mod call_ends;
mod continued;
mod decided_order;
mod direct_calls;
mod erasure;
mod examine;
mod execute;
mod found_out;
mod given_again;
mod handle;
mod in_flight_calls;
mod inner_calls;
mod messages;
mod outcome;
mod paused;
mod playback;
mod replay;
mod request;
mod resume;
mod returned;
mod rounds;
mod run;
mod shown;
mod signals;

pub use examine::Examination;
pub(crate) use execute::mint_id;
pub(crate) use handle::Executor;
pub use inner_calls::{InnerCall, inner_calls};
pub use replay::{ReplayError, ReplayReport};
pub use request::{AnswerForm, ExecuteRequest};
pub use resume::ResumeError;
pub use shown::Shown;
