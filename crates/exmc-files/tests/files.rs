//! Files of a run hold its draws bit for bit, and are written whole or not at all.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use exmc_draws::{ChainDraws, Method, Posterior, RunRecord, RunStatus, Variable};
use exmc_files::{
    FileError, Group, Numbers, Roles, inference_data, read_netcdf, write_json, write_netcdf,
    write_parquet, write_zarr,
};
use exmc_infer::{ChainOutcome, Info, SamplerConfig};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn variable(name: &str, shape: &[usize], offset: usize) -> Variable {
    Variable { name: name.into(), shape: shape.to_vec(), dims: Vec::new(), offset, first_index: 1 }
}

const DRAWS: usize = 5;
const WIDTH: usize = 8;

/// A number that names its place.
fn number(chain: usize, draw: usize, column: usize) -> f64 {
    0.1 + (chain * 1000 + draw * 10 + column) as f64 / 3.0
}

fn run() -> (RunRecord, Posterior) {
    let chain = |chain: usize| {
        let column = |draw: usize| (0..WIDTH).map(move |column| number(chain, draw, column));
        let info = |draw: usize| {
            let mut info = Info::still(-1.5 * draw as f64, 0.25);
            (info.n_steps, info.tree_depth, info.divergent) = (3, 2, draw == 2);
            info.energy = number(chain, draw, 9);
            info
        };
        ChainDraws {
            chain: chain as u32,
            values: (0..DRAWS).flat_map(column).collect(),
            infos: (0..DRAWS).map(info).collect(),
            warmup_values: Vec::new(),
            warmup_infos: Vec::new(),
            leapfrogs: 15,
            raised_target: None,
            restarts: Vec::new(),
            warmup_seconds: 0.0,
            sampling_seconds: 0.0,
            tuned: None,
            outcome: ChainOutcome::Completed,
        }
    };
    let variables =
        vec![variable("mu", &[], 0), variable("theta", &[2, 3], 1), variable("log_lik", &[1], 7)];
    let record = RunRecord {
        program: "exmc 9.8.7".into(),
        method: Method::Sample,
        model: "schools".into(),
        started: 1_735_689_599,
        status: RunStatus::Completed,
        error: None,
        config: SamplerConfig::default(),
        executor: "native".into(),
        without: Vec::new(),
        save_warmup: false,
        variables: variables.clone(),
        coordinates: Vec::new(),
        warnings: Vec::new(),
        seconds: 0.0,
        chains: Vec::new(),
        origin: None,
    };
    let posterior = Posterior {
        variables,
        chains: vec![chain(0), chain(1)],
        seconds: 0.0,
        max_depth: 10,
        warnings: Vec::new(),
    };
    (record, posterior)
}

fn groups(data: Option<&serde_json::Value>, roles: &Roles) -> Vec<Group> {
    let (record, posterior) = run();
    inference_data(&record, &posterior, data, roles)
}

fn parquet(path: &Path) -> Result<(), FileError> {
    let (record, posterior) = run();
    write_parquet(path, &record, &posterior)
}

fn data() -> serde_json::Value {
    serde_json::json!({"y": [1, 0, 2], "sigma": [[0.5, "NaN"]], "N": 3, "name": "text"})
}

#[test]
fn groups_and_names_are_those_of_the_schema() {
    let roles = Roles { observed: vec!["y".into()], ..Roles::default() };
    let groups = groups(Some(&data()), &roles);
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    let expected =
        ["posterior", "log_likelihood", "sample_stats", "observed_data", "constant_data"];
    assert_eq!(names, expected);
    let theta = &groups[0].arrays[1];
    assert_eq!((&*theta.name, &theta.shape[..]), ("theta", &[2, 5, 2, 3][..]));
    assert_eq!(theta.dims, ["chain", "draw", "theta_dim_0", "theta_dim_1"]);
    let from_one = groups[0].coordinates.iter().find(|c| c.name == "theta_dim_1").unwrap();
    assert_eq!(from_one.numbers, Numbers::Integer(vec![1, 2, 3]));
    let Numbers::Real(values) = &theta.numbers else { panic!("{theta:?}") };
    // Chain 1, draw 2, element (1, 0) is column 1 + 3.
    assert_eq!(values[6 * (5 + 2) + 3], number(1, 2, 4));
    let diverging = groups[2].arrays.iter().find(|a| a.name == "diverging").unwrap();
    let expected: Vec<bool> = (0..10).map(|k| k % 5 == 2).collect();
    assert_eq!(diverging.numbers, Numbers::Boolean(expected));
    assert!(
        groups[0].attributes.contains(&("created_at".into(), "2024-12-31T23:59:59+00:00".into()))
    );
    let constants: Vec<&str> = groups[4].arrays.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(constants, ["sigma", "N"]);
}

#[test]
fn netcdf_is_read_back_bit_for_bit() {
    let folder = folder("netcdf");
    let path = folder.join("run.nc");
    let groups = groups(Some(&data()), &Roles::default());
    write_netcdf(&path, &groups).unwrap();
    let read = read_netcdf(&path).unwrap();
    assert!(read.has_statistics && read.notes.is_empty());
    let mu = read.posterior.draws_of("mu", 0).unwrap();
    let theta = read.posterior.draws_of("theta", 4).unwrap();
    for chain in 0..2 {
        for draw in 0..DRAWS {
            assert_eq!(mu[chain][draw].to_bits(), number(chain, draw, 0).to_bits());
            assert_eq!(theta[chain][draw].to_bits(), number(chain, draw, 5).to_bits());
            let info = &read.posterior.chains[chain].infos[draw];
            assert_eq!(info.divergent, draw == 2);
            assert_eq!(info.energy.to_bits(), number(chain, draw, 9).to_bits());
            assert_eq!((info.n_steps, info.tree_depth), (3, 2));
        }
    }
    assert_eq!(read.posterior.variable("theta").unwrap().first_index, 1);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn parquet_has_a_row_for_each_draw() {
    let folder = folder("parquet");
    let path = folder.join("run.parquet");
    parquet(&path).unwrap();
    let file = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    let fields: Vec<String> = file
        .metadata()
        .file_metadata()
        .schema()
        .get_fields()
        .iter()
        .map(|f| f.name().to_owned())
        .collect();
    assert_eq!(fields[..5], [".chain", ".iteration", ".draw", "mu", "theta[1,1]"]);
    let rows: Vec<_> = file.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect();
    assert_eq!(rows.len(), 2 * DRAWS);
    let row = &rows[5 + 3];
    assert_eq!([0, 1, 2].map(|k| row.get_long(k).unwrap()), [2, 4, 9]);
    assert_eq!(row.get_double(4).unwrap().to_bits(), number(1, 3, 1).to_bits());
    let column = fields.iter().position(|name| name == "diverging").unwrap();
    assert_eq!(rows.iter().filter(|row| row.get_bool(column).unwrap()).count(), 2);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn json_nests_lists_by_shape() {
    let folder = folder("json");
    let path = folder.join("run.json");
    write_json(&path, &groups(Some(&data()), &Roles::default())).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["posterior"]["theta"][1][2][1][0], number(1, 2, 4));
    assert_eq!(json["sample_stats"]["diverging"][0][2], true);
    assert_eq!(json["constant_data"]["sigma"][0][1], "NaN");
    assert_eq!(json["constant_data"]["N"], 3);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn zarr_repeats_each_arrays_metadata_in_the_root() {
    let folder = folder("zarr");
    let path = folder.join("run.zarr");
    write_zarr(&path, &groups(None, &Roles::default())).unwrap();
    let read = |path: PathBuf| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let root = read(path.join("zarr.json"));
    let metadata = read(path.join("posterior/theta/zarr.json"));
    assert_eq!(root["consolidated_metadata"]["metadata"]["posterior/theta"], metadata);
    assert_eq!(metadata["shape"], serde_json::json!([2, 5, 2, 3]));
    let packed = fs::read(path.join("posterior/theta/c/1/0/0/0")).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut bytes).unwrap();
    assert_eq!(bytes.len(), 5 * 6 * 8);
    assert_eq!(bytes[(2 * 6 + 3) * 8..][..8], number(1, 2, 4).to_le_bytes());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn nothing_is_ever_written_over() {
    let folder = folder("over");
    let groups = groups(None, &Roles::default());
    let path = folder.join("there");
    fs::write(&path, "mine").unwrap();
    for error in [
        write_netcdf(&path, &groups).unwrap_err(),
        write_zarr(&path, &groups).unwrap_err(),
        write_json(&path, &groups).unwrap_err(),
        parquet(&path).unwrap_err(),
    ] {
        assert!(error.to_string().ends_with("exists already"), "{error}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    let missing = folder.join("no/such/run.nc");
    assert!(write_netcdf(&missing, &groups).unwrap_err().is_io());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left behind");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn files_that_hold_no_draws_are_named() {
    let folder = folder("malformed");
    let path = folder.join("x.nc");
    fs::write(&path, "no netCDF").unwrap();
    let error = read_netcdf(&path).unwrap_err();
    assert!(error.to_string().contains("x.nc"), "{error}");
    write_netcdf(&folder.join("empty.nc"), &[]).unwrap();
    let error = read_netcdf(&folder.join("empty.nc")).unwrap_err();
    assert!(error.to_string().contains("no group `posterior`"), "{error}");
    fs::remove_dir_all(folder).unwrap();
}
