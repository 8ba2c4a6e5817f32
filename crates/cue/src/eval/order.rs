//! The order in which language version 0.9 shows the fields of a struct.
//!
//! Each struct literal that was unified lists the names it declares. The lists are merged from their fronts; a name
//! waits until it is at the front of every list that has it. The last name of a list is never released by the one
//! before it, so it waits until nothing else can go on. That is how version 0.9 does it, and it can be seen in JSON text
//! that a program makes.

use super::Machine;
use super::node::{Declares, NodeId};
use crate::program::ir::Declaration;
use crate::program::symbols::{Label, Symbol};
use std::collections::{HashMap, HashSet};

impl Machine<'_> {
    /// Puts the fields of a node in the order that the options ask for.
    pub(super) fn put_in_order<T>(&self, node: NodeId, fields: &mut [T], name: impl Fn(&T) -> &str) {
        if !self.options.legacy_field_order || fields.len() < 2 {
            return;
        }
        let Some(order) = self.legacy_order(node) else {
            return;
        };
        let ranks: HashMap<&str, usize> = order
            .iter()
            .enumerate()
            .map(|(rank, symbol)| (self.symbols.name(*symbol).as_ref(), rank))
            .collect();
        fields.sort_by_key(|field| ranks.get(name(field)).copied().unwrap_or(usize::MAX));
    }

    /// The names in order; none when that is the order of the fields.
    fn legacy_order(&self, node: NodeId) -> Option<Vec<Symbol>> {
        let known = self.known(node);
        let mut lists: Vec<Vec<Symbol>> = Vec::with_capacity(known.structs.len() + 1);
        for info in &known.structs {
            let names: Vec<Symbol> = match &info.declares {
                Declares::Literal(literal) => literal.declarations.iter().filter_map(declared).collect(),
                Declares::Data(fields) => fields.iter().filter_map(|(label, _)| regular(*label)).collect(),
            };
            if !names.is_empty() {
                lists.push(names);
            }
        }
        let all: HashSet<Symbol> = lists.iter().flatten().copied().collect();
        let names = known.arcs.iter().filter_map(|arc| regular(arc.label));
        let undeclared: Vec<Symbol> = names.filter(|symbol| !all.contains(symbol)).collect();
        if !undeclared.is_empty() {
            lists.push(undeclared);
        }
        (lists.len() > 1).then(|| merge(&lists))
    }
}

fn declared(declaration: &Declaration) -> Option<Symbol> {
    match declaration {
        Declaration::Field(field) => regular(field.label),
        _ => None,
    }
}

fn regular(label: Label) -> Option<Symbol> {
    match label {
        Label::Regular(symbol) => Some(symbol),
        _ => None,
    }
}

fn merge(lists: &[Vec<Symbol>]) -> Vec<Symbol> {
    let mut waits: HashMap<Symbol, usize> = HashMap::new();
    for name in lists.iter().flat_map(|list| list.iter().skip(1)) {
        *waits.entry(*name).or_default() += 1;
    }
    let mut fronts: Vec<&[Symbol]> = lists.iter().map(Vec::as_slice).collect();
    let mut order: Vec<Symbol> = Vec::new();
    let mut done: HashSet<Symbol> = HashSet::new();
    loop {
        let free = |list: &[Symbol]| {
            list.first()
                .is_some_and(|name| done.contains(name) || waits.get(name).copied().unwrap_or(0) == 0)
        };
        let Some(front) = fronts.iter().position(|list| free(list)) else {
            match fronts.iter().find_map(|list| list.first()) {
                Some(stuck) => {
                    waits.insert(*stuck, 0);
                    continue;
                }
                None => return order,
            }
        };
        let name = fronts[front][0];
        fronts[front] = &fronts[front][1..];
        if let [next, _, ..] = fronts[front]
            && let Some(count) = waits.get_mut(next)
        {
            *count = count.saturating_sub(1);
        }
        if done.insert(name) {
            order.push(name);
        }
    }
}
