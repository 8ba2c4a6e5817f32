//! What users are promised, on the embedded API server and on Kubernetes.

mod admission_crossplane;
mod admission_oam;
mod applications;
mod claims;
mod composites;
mod compositions;
mod defects;
mod definitions;
mod failures;
mod pipelines;
mod retention;
mod seed;
mod seed_compositions;
mod tenants;
