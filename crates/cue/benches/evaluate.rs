//! Benchmarks of compiling and rendering definitions: `cargo bench -p cambium-cue`.

use cambium_cue::{Data, EvaluationOptions, Program, Source, compile};
use cambium_cue_judge::inputs::{self, Input};
use divan::Bencher;

fn main() {
    divan::main();
}

fn compiled(input: &Input) -> Program {
    compile(&Source::new(input.name.as_str(), input.text.as_str())).expect("the inputs are right")
}

fn render(program: &Program, input: &Input) -> Data {
    program
        .evaluate(&input.values(), EvaluationOptions::default())
        .export()
        .expect("the inputs are right")
}

fn bench_compile(bencher: Bencher<'_, '_>, input: &Input) {
    bencher.bench(|| compiled(input));
}

fn bench_render(bencher: Bencher<'_, '_>, input: &Input) {
    let program = compiled(input);
    bencher.bench(|| render(&program, input));
}

#[divan::bench]
fn compile_ordinary(bencher: Bencher<'_, '_>) {
    bench_compile(bencher, &inputs::ordinary());
}

#[divan::bench]
fn compile_service(bencher: Bencher<'_, '_>) {
    bench_compile(bencher, &inputs::service());
}

#[divan::bench]
fn render_ordinary(bencher: Bencher<'_, '_>) {
    bench_render(bencher, &inputs::ordinary());
}

#[divan::bench]
fn render_service(bencher: Bencher<'_, '_>) {
    bench_render(bencher, &inputs::service());
}

#[divan::bench(args = [10, 100, 1_000])]
fn render_items(bencher: Bencher<'_, '_>, count: usize) {
    bench_render(bencher, &inputs::items(count));
}

#[divan::bench(args = [1, 2, 4, 8, 16])]
fn render_choices(bencher: Bencher<'_, '_>, count: usize) {
    bench_render(bencher, &inputs::choices(count));
}

#[divan::bench(args = [1, 2, 4, 8])]
fn render_decisions(bencher: Bencher<'_, '_>, count: usize) {
    bench_render(bencher, &inputs::decisions(count));
}

#[divan::bench(args = [2, 4, 8, 40])]
fn render_products(bencher: Bencher<'_, '_>, count: usize) {
    bench_render(bencher, &inputs::products(count));
}
