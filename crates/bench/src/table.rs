//! Prints result tables: one row per measure, one column per server, and the ratio.

use std::time::Duration;

use crate::growth::{Growth, Kind};
use crate::load::Figures;

/// Prints the table, as Markdown.
#[expect(clippy::print_stdout, reason = "the table is this program's answer")]
pub(crate) fn print(columns: &[(&str, Figures)], in_process: &(Duration, Duration), binary: u64) {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    println!("| measure | {} | ratio |", names.join(" | "));
    println!("|---|{}---|", "---|".repeat(names.len()));
    let seconds = |duration: Duration| duration.as_secs_f64() * 1000.0;
    #[expect(clippy::cast_precision_loss, reason = "megabytes are shown with one digit")]
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let rows: [Row<'_>; 12] = [
        ("start to ready", "ms", &|f| seconds(f.start), Better::Less),
        ("memory, idle", "MB", &|f| megabytes(f.idle_memory), Better::Less),
        (
            "memory, 10 000 custom resources",
            "MB",
            &|f| megabytes(f.full_memory),
            Better::Less,
        ),
        (
            "CRD created to first object",
            "ms",
            &|f| seconds(f.crd),
            Better::Less,
        ),
        ("create, 16 clients", "/s", &|f| f.create, Better::More),
        ("get, 16 clients", "/s", &|f| f.get, Better::More),
        ("update, 16 clients", "/s", &|f| f.update, Better::More),
        ("server-side apply, 16 clients", "/s", &|f| f.apply, Better::More),
        ("list of 10 000", "ms", &|f| seconds(f.list), Better::Less),
        (
            "streaming list of 10 000",
            "ms",
            &|f| seconds(f.stream),
            Better::Less,
        ),
        (
            "write to watch event, p50",
            "ms",
            &|f| seconds(f.event_p50),
            Better::Less,
        ),
        (
            "write to watch event, p99",
            "ms",
            &|f| seconds(f.event_p99),
            Better::Less,
        ),
    ];
    for (name, unit, value, better) in rows {
        let values: Vec<f64> = columns.iter().map(|(_, figures)| value(figures)).collect();
        let shown: Vec<String> = values.iter().map(|value| number(*value)).collect();
        let ratio = match (values.as_slice(), better) {
            ([ours, theirs], Better::Less) => format!("{:.1} x", theirs / ours),
            ([ours, theirs], Better::More) => format!("{:.1} x", ours / theirs),
            _ => String::new(),
        };
        println!("| {name} ({unit}) | {} | {ratio} |", shown.join(" | "));
    }
    println!(
        "\nin-process start: {:.2} ms the first, {:.2} ms the median",
        seconds(in_process.0),
        seconds(in_process.1)
    );
    println!("binary: {:.1} MB", megabytes(binary));
}

/// Prints the scaling figures.
#[expect(clippy::print_stdout, reason = "the table is this program's answer")]
pub(crate) fn print_growth(growth: &[Growth]) {
    let milliseconds = |duration: Duration| duration.as_secs_f64() * 1000.0;
    let rows: [GrowthRow<'_>; 5] = [
        ("get, p50 (ms)", &|kind| milliseconds(kind.get_p50), Better::Less),
        (
            "create, p50 (ms)",
            &|kind| milliseconds(kind.create_p50),
            Better::Less,
        ),
        ("create, 16 clients (/s)", &|kind| kind.create, Better::More),
        (
            "write to watch event, p50 (ms)",
            &|kind| milliseconds(kind.event_p50),
            Better::Less,
        ),
        (
            "write to watch event, p99 (ms)",
            &|kind| milliseconds(kind.event_p99),
            Better::Less,
        ),
    ];
    for one in growth {
        println!("\n| ConfigMaps | alone | beside {} | cost |", one.company);
        println!("|---|---|---|---|");
        for (name, value, better) in rows {
            let (alone, beside) = (value(&one.alone), value(&one.beside));
            let cost = match better {
                Better::Less => beside / alone,
                Better::More => alone / beside,
            };
            println!("| {name} | {alone:.2} | {beside:.2} | {cost:.2} x |");
        }
    }
}

type GrowthRow<'a> = (&'a str, &'a dyn Fn(&Kind) -> f64, Better);

/// A measure's name and unit, its figure, and which way is better.
type Row<'a> = (&'a str, &'a str, &'a dyn Fn(&Figures) -> f64, Better);

#[derive(Clone, Copy)]
enum Better {
    Less,
    More,
}

fn number(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}
