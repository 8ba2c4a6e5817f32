//! The runtime of controllers: caches, watches, work queues, leader election, events.
//!
//! ```text
//!   server ──watch──► Cache ──Change──► handler ──key──► Queue ──► workers: observe, decide, act
//!                       ▲                                               │
//!                       └──────────── learn (answers to our writes) ────┘
//! ```
//!
//! - [`Cache`] holds the objects of one resource as compact [`Record`]s, and tells each real change once.
//! - [`watch`] keeps a cache up to date, through disconnects and relists; [`DynamicCaches`] starts watches of kinds
//!   as they are needed, [`MetadataWatches`] hears of changes and keeps nothing, and [`Mapper`] finds out which kinds there are.
//! - [`Queue`] gives each key to one worker at a time.
//! - [`lease`] says who may write; [`Events`] says what happened; [`with_timeouts`] bounds how long a request takes.
//! - [`Pool`] runs what users wrote on threads of its own.
//!
//! Nothing here polls. A manager at rest has open watches and, if it was asked to elect a leader, a lease.

pub mod cache;
pub mod dynamic_caches;
pub mod events;
pub mod lease;
pub mod mapper;
pub mod metadata_watches;
pub mod pool;
pub mod queue;
pub mod record;
mod timeouts;
pub mod watch;

pub use cache::{Cache, Change, Origin};
pub use dynamic_caches::DynamicCaches;
pub use events::{Event, Events};
pub use lease::{Election, Leadership, run_while_leader};
pub use mapper::{Mapper, Resource};
pub use metadata_watches::{MetadataEvent, MetadataWatches};
pub use pool::Pool;
pub use queue::{Backoff, Outcome, Queue};
pub use record::{Key, Object, Record};
pub use timeouts::with_timeouts;
pub use watch::Watch;
