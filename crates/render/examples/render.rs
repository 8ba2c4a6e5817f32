//! Renders an Application with a folder of definitions, both as YAML: `render app.yaml definitions/`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use cambium_render::{Application, Definition, Definitions, Environment, Template, render};
use serde_json::Value;
use std::error::Error;
use std::fs::read_to_string;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, application, folder] = arguments.as_slice() else {
        return Err("usage: render app.yaml definitions/".into());
    };
    let mut definitions = Definitions::default();
    for entry in std::fs::read_dir(folder)? {
        let manifest: Value = serde_saphyr::from_str(&read_to_string(entry?.path())?)?;
        let definition = Definition::from_manifest(&manifest)?;
        let name = definition.name.clone();
        match Template::compile(definition) {
            Ok(template) => definitions.insert(name, Arc::new(template)),
            Err(problems) => eprintln!("{name}: {problems}"),
        }
    }
    let application = Application::from_manifest(&serde_saphyr::from_str(&read_to_string(application)?)?)?;
    match render(&application, &definitions, &Environment::default()) {
        Ok(rendered) => rendered.objects().for_each(|object| println!("{object:#}")),
        Err(failures) => eprintln!("{failures}"),
    }
    Ok(())
}
