//! A stored run -> a Parquet table with a row for each draw after warmup.
//!
//! Columns `.chain`, `.iteration` (from 1) and `.draw` (from 1, over all chains) are those of R's
//! `posterior` package, then a column for each recorded number under its name, then the sampler's
//! statistics under ArviZ's names. A chain is a row group. Real numbers are byte-stream-split, bit
//! for bit.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use exmc_draws::{ChainDraws, Method, Posterior, RunRecord};
use exmc_infer::Info;
use parquet::basic::{Compression, Encoding, Repetition, Type as Physical};
use parquet::data_type::{BoolType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::error::FileError;
use crate::whole_file::write_new;

/// A statistic: its name and values.
type Statistic = (&'static str, Getter);

/// Where a statistic's values come from.
#[derive(Clone, Copy)]
enum Getter {
    Real(fn(&Info) -> f64),
    Integer(fn(&Info) -> u32),
    Boolean(fn(&Info) -> bool),
}

const STATISTICS: [Statistic; 9] = [
    ("lp", Getter::Real(|i| i.logp)),
    ("acceptance_rate", Getter::Real(|i| i.accept_stat)),
    ("step_size", Getter::Real(|i| i.step_size)),
    ("tree_depth", Getter::Integer(|i| i.tree_depth)),
    ("n_steps", Getter::Integer(|i| i.n_steps)),
    ("diverging", Getter::Boolean(|i| i.divergent)),
    ("reached_max_treedepth", Getter::Boolean(|i| i.reached_max_depth)),
    ("energy", Getter::Real(|i| i.energy)),
    ("energy_error", Getter::Real(|i| i.energy_error)),
];

/// Writes a run as a new table.
///
/// # Errors
/// When there is something of that name, or writing fails.
pub fn write_parquet(
    path: &Path,
    record: &RunRecord,
    posterior: &Posterior,
) -> Result<(), FileError> {
    write_new(path, |file| write(file, record, posterior).map_err(io::Error::other))
}

fn write<W: Write + Send>(
    out: &mut BufWriter<W>,
    record: &RunRecord,
    posterior: &Posterior,
) -> Result<(), ParquetError> {
    let names = posterior.column_names();
    let statistics: &[Statistic] = if record.method == Method::Sample { &STATISTICS } else { &[] };
    let field = |name: &str, physical| {
        let field = Type::primitive_type_builder(name, physical);
        field.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
    };
    let mut fields = Vec::new();
    for name in [".chain", ".iteration", ".draw"] {
        fields.push(field(name, Physical::INT64)?);
    }
    for name in &names {
        fields.push(field(name, Physical::DOUBLE)?);
    }
    for (name, getter) in statistics {
        let physical = match getter {
            Getter::Real(_) => Physical::DOUBLE,
            Getter::Integer(_) => Physical::INT32,
            Getter::Boolean(_) => Physical::BOOLEAN,
        };
        fields.push(field(name, physical)?);
    }
    let schema = Type::group_type_builder("draws").with_fields(fields).build()?;
    let mut properties = WriterProperties::builder()
        .set_created_by(record.program.clone())
        .set_compression(Compression::SNAPPY);
    let reals = names.iter().map(String::as_str).chain(
        statistics
            .iter()
            .filter(|(_, getter)| matches!(getter, Getter::Real(_)))
            .map(|(name, _)| *name),
    );
    for name in reals {
        let column = vec![name.to_owned()].into();
        properties = properties.set_column_dictionary_enabled(column, false);
        let column = vec![name.to_owned()].into();
        properties = properties.set_column_encoding(column, Encoding::BYTE_STREAM_SPLIT);
    }
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?;
    let mut before = 0;
    for chain in posterior.usable_chains() {
        write_chain(&mut file, chain, (names.len(), before), statistics)?;
        before += chain.infos.len() as i64;
    }
    file.close()?;
    Ok(())
}

/// Writes a chain as a row group; so many draws are before it.
fn write_chain<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    chain: &ChainDraws,
    (width, before): (usize, i64),
    statistics: &[Statistic],
) -> Result<(), ParquetError> {
    let draws = chain.infos.len() as i64;
    let mut rows = file.next_row_group()?;
    let numbers: [Vec<i64>; 3] = [
        vec![i64::from(chain.chain) + 1; draws as usize],
        (1..=draws).collect(),
        (before + 1..=before + draws).collect(),
    ];
    for indices in numbers {
        let Some(mut column) = rows.next_column()? else { break };
        column.typed::<Int64Type>().write_batch(&indices, None, None)?;
        column.close()?;
    }
    let mut column_values = Vec::with_capacity(draws as usize);
    for k in 0..width {
        let Some(mut column) = rows.next_column()? else { break };
        column_values.clear();
        column_values.extend(chain.values.iter().skip(k).step_by(width));
        column.typed::<DoubleType>().write_batch(&column_values, None, None)?;
        column.close()?;
    }
    for (_, getter) in statistics {
        let Some(mut column) = rows.next_column()? else { break };
        let infos = &chain.infos;
        match getter {
            Getter::Real(get) => {
                let values: Vec<f64> = infos.iter().map(get).collect();
                column.typed::<DoubleType>().write_batch(&values, None, None)?;
            }
            Getter::Integer(get) => {
                let values: Vec<i32> = infos.iter().map(|info| get(info) as i32).collect();
                column.typed::<Int32Type>().write_batch(&values, None, None)?;
            }
            Getter::Boolean(get) => {
                let values: Vec<bool> = infos.iter().map(get).collect();
                column.typed::<BoolType>().write_batch(&values, None, None)?;
            }
        }
        column.close()?;
    }
    rows.close()?;
    Ok(())
}
