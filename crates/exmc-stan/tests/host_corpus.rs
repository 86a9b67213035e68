//! Other people's programs with their data: `EXMC_STAN_PAIRS` names a folder of NAME.stan with
//! NAME.json. Every file must load, and transformed data must run.

use crate::support;

use std::time::Instant;

use exmc_stan::data::read_data;
use exmc_stan::host::Settings;

#[test]
fn data_load_and_transformed_data_run() {
    let Ok(folder) = std::env::var("EXMC_STAN_PAIRS") else { return };
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "stan"))
        .collect();
    names.sort();
    let mut failed = Vec::new();
    for path in &names {
        let text = std::fs::read_to_string(path).unwrap();
        let data = std::fs::read_to_string(path.with_extension("json")).unwrap_or("{}".to_owned());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let program = match support::try_program(&text) {
            Ok(program) => program,
            Err(errors) => {
                failed.push(format!("{name}: {errors:?}"));
                continue;
            }
        };
        let start = Instant::now();
        let mut env = match read_data(&program, "data.json", &data) {
            Ok(env) => env,
            Err(errors) => {
                let messages: Vec<_> = errors.diagnostics.iter().map(|d| &d.message).collect();
                failed.push(format!("{name}: {messages:?}"));
                continue;
            }
        };
        let read = start.elapsed();
        let lines = support::run_transformed(&program, &mut env, Settings::default());
        if let Some(error) = lines.iter().find(|line| line.starts_with("error ")) {
            failed.push(format!("{name}: {error}"));
        }
        let all = start.elapsed();
        if all.as_millis() > 50 {
            println!(
                "{name}: {} bytes read in {read:?}, transformed in {:?}",
                data.len(),
                all - read
            );
        }
    }
    println!("{} of {} failed", failed.len(), names.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
