//! Kinds and their CRDs.

mod crds;
mod crossplane;
mod round_trip;
