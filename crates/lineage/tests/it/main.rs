//! What must hold of lineages, by scenario, by table, and by law.

mod canonical;
mod compositions;
mod explanations;
mod fixtures;
mod laws;
mod locks;
mod model;
mod numbering;
mod parsers;
mod publish;
mod resolution;
mod retention;
mod scenarios;
mod table;
