//! Checkpoints: bytes and back, every mismatch by its field, damaged files by their place.

use std::collections::BTreeMap;

use features::{Discretiser, Schema};
use plain::policy::{
    Architecture, Backbone, Checkpoint, CheckpointError, Contract, HeadKind, Heads, Tensor,
};

fn contract(backbone: Backbone) -> Contract {
    let heads = Heads { kind: HeadKind::Autoregressive, residual: 6 };
    let architecture = Architecture { embedding: 3, backbone, heads };
    Contract::new(architecture, &Schema::egocentric(), Discretiser::default(), 2)
}

fn gru() -> Contract {
    contract(Backbone::Gru { hidden: 4, layers: 2 })
}

/// Tensors of the right shapes with different numbers.
fn tensors(contract: &Contract) -> BTreeMap<String, Tensor> {
    let mut next = 0.0;
    let shapes = contract.tensors().expect("a schema").into_iter();
    let fill = |shape: plain::policy::TensorShape| {
        let value = |_| {
            next += 0.25;
            next
        };
        let values = (0..shape.shape.iter().product::<usize>()).map(value).collect();
        (shape.name, Tensor { shape: shape.shape, values })
    };
    shapes.map(fill).collect()
}

fn checkpoint() -> Checkpoint {
    let contract = gru();
    let tensors = tensors(&contract);
    Checkpoint::new(contract, tensors).expect("they fit")
}

#[test]
fn a_checkpoint_is_itself_after_writing_and_reading() {
    let backbones = [
        Backbone::Mlp { hidden: 5, layers: 2 },
        Backbone::Gru { hidden: 4, layers: 2 },
        Backbone::Lstm { hidden: 4, layers: 1 },
        Backbone::Attention { hidden: 6, layers: 2, heads: 2, window: 5, feed_forward: 7 },
        Backbone::SelectiveScan {
            hidden: 4,
            layers: 2,
            state: 3,
            expand: 2,
            convolution: 4,
            rank: 2,
        },
    ];
    for backbone in backbones {
        let mut contract = contract(backbone);
        contract.step = u64::MAX;
        let written = Checkpoint::new(contract.clone(), tensors(&contract)).expect("they fit");
        let bytes = written.write();
        let read = Checkpoint::read(&bytes).expect("our own file");
        assert_eq!(read, written);
        assert_eq!(read.write(), bytes);
        let counted: usize = read.tensors().map(|(_, tensor)| tensor.values.len()).sum();
        assert_eq!(contract.parameters(), Ok(counted));
    }
}

#[test]
fn the_file_is_laid_out_as_safetensors_are() {
    let bytes = checkpoint().write();
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    assert_eq!(length % 8, 0);
    let header: serde_json::Value =
        serde_json::from_slice(&bytes[8..8 + length]).expect("the header is JSON");
    let entry = &header["heads.embedding.8"];
    assert_eq!(entry["dtype"], "F32");
    assert_eq!(entry["shape"], serde_json::json!([17, 6]));
    let begin = entry["data_offsets"][0].as_u64().expect("a number") as usize + 8 + length;
    let first = f32::from_le_bytes(bytes[begin..begin + 4].try_into().expect("four bytes"));
    assert_eq!(first, checkpoint().values("heads.embedding.8")[0]);
    assert!(header["__metadata__"]["contract"].is_string());
}

fn refused(contract: &Contract) -> CheckpointError {
    // Written by hand: our own writer does not write what it would not read.
    let header = serde_json::json!({
        "__metadata__": {"contract": serde_json::to_string(contract).expect("JSON")}
    });
    let text = header.to_string();
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    Checkpoint::read(&bytes).expect_err("there is a mistake")
}

#[test]
fn gotcha_10_every_field_that_is_wrong_is_named() {
    type Change = fn(&mut Contract);
    let changes: [(&str, Change); 9] = [
        ("format", |c| c.format = 2),
        ("architecture.embedding", |c| c.architecture.embedding = 0),
        ("architecture.backbone.hidden", |c| {
            c.architecture.backbone = Backbone::Gru { hidden: usize::MAX, layers: 1 };
        }),
        ("architecture.backbone.heads", |c| {
            c.architecture.backbone =
                Backbone::Attention { hidden: 6, layers: 1, heads: 4, window: 2, feed_forward: 2 };
        }),
        ("architecture.heads.residual", |c| c.architecture.heads.residual = 0),
        ("schema", |c| c.schema.push_str("no feature\n")),
        ("schema_hash", |c| c.schema_hash = "0123456789abcdef".to_owned()),
        ("classes.axis", |c| c.classes.axis = 1),
        ("delay", |c| c.delay = 0),
    ];
    for (field, change) in changes {
        let mut contract = gru();
        change(&mut contract);
        assert_eq!(refused(&contract).field(), Some(field));
    }
}

#[test]
fn gotcha_10_two_contracts_that_differ_do_so_in_a_field() {
    type Change = fn(&mut Contract);
    let changes: [(&str, Change); 7] = [
        ("architecture.backbone.kind", |c| {
            c.architecture.backbone = Backbone::Lstm { hidden: 4, layers: 2 };
        }),
        ("architecture.backbone.layers", |c| {
            c.architecture.backbone = Backbone::Gru { hidden: 4, layers: 3 };
        }),
        ("architecture.heads.kind", |c| c.architecture.heads.kind = HeadKind::Independent),
        ("schema", |c| c.schema = Schema::full().text()),
        ("schema_hash", |c| c.schema_hash = String::new()),
        ("classes.trigger", |c| c.classes.trigger = 6),
        ("delay", |c| c.delay = 3),
    ];
    for (field, change) in changes {
        let mut other = gru();
        change(&mut other);
        let error = gru().same_as(&other).expect_err("they differ");
        assert_eq!(error.field(), Some(field));
    }
    let later = Contract { step: 7, build: "another".to_owned(), ..gru() };
    assert_eq!(gru().same_as(&later), Ok(()));
    let error = gru().check_delay(3).expect_err("another delay");
    assert_eq!(error.to_string(), "the checkpoint's `delay` is 2; expected 3");
    let error = gru().check_schema(&Schema::full()).expect_err("other features");
    assert_eq!(error.field(), Some("schema_hash"));
}

#[test]
fn tensors_that_do_not_fit_the_architecture_are_named() {
    let contract = gru();
    let all = tensors(&contract);
    let name = "backbone.layers.1.recurrent.weight";
    let refuse = |change: &dyn Fn(&mut BTreeMap<String, Tensor>)| {
        let mut tensors = all.clone();
        change(&mut tensors);
        Checkpoint::new(contract.clone(), tensors).expect_err("a mismatch").to_string()
    };
    let say = |rest: &str| format!("the checkpoint's tensor `{name}` is {rest}");
    let error = refuse(&|t| drop(t.remove(name)));
    assert_eq!(error, say("missing; expected of the shape [4, 12]"));
    let error = refuse(&|t| {
        t.insert(name.to_owned(), Tensor { shape: vec![12, 4], values: vec![0.0; 48] });
    });
    assert_eq!(error, say("of the shape [12, 4]; expected of the shape [4, 12]"));
    let error = refuse(&|t| t.get_mut(name).expect("it is there").values[5] = f32::NAN);
    assert_eq!(error, say("NaN at element 5; expected finite numbers"));
    let error = refuse(&|t| drop(t.insert("extra".to_owned(), Tensor::default())));
    assert!(error.contains("tensor `extra`"), "{error}");
}

#[test]
fn files_that_are_cut_off_or_changed_are_refused_or_read_and_never_panic() {
    let bytes = checkpoint().write();
    for length in 0..bytes.len() {
        let error = Checkpoint::read(&bytes[..length]).expect_err("bytes are missing");
        match error {
            CheckpointError::Damaged { byte, .. } => assert!(byte <= length as u64, "{byte}"),
            CheckpointError::Mismatch { .. } => panic!("{error}"),
            _ => unreachable!(),
        }
    }
    let mut state = 1_u64;
    let mut refused = 0;
    for _ in 0..3000 {
        let mut damaged = bytes.clone();
        for _ in 0..3 {
            // Knuth's multiplicative generator (TAOCP 2, 3.3.4, line 26).
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Half of the changes within the header.
            let span = if state >> 63 == 0 { 4000 } else { damaged.len() };
            damaged[(state >> 20) as usize % span] = (state >> 50) as u8;
        }
        refused += usize::from(Checkpoint::read(&damaged).is_err());
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn lengths_that_the_file_does_not_have_are_not_believed() {
    let file = |header: &str| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        Checkpoint::read(&bytes).expect_err("no checkpoint").to_string()
    };
    let huge = u64::MAX;
    let error =
        file(&format!(r#"{{"a":{{"dtype":"F32","shape":[{huge}],"data_offsets":[0,{huge}]}}}}"#));
    assert!(error.contains("tensor `a` lies at 0 to"), "{error}");
    let error =
        file(&format!(r#"{{"a":{{"dtype":"F32","shape":[{huge},{huge}],"data_offsets":[0,0]}}}}"#));
    assert!(error.contains("0 bytes for the shape"), "{error}");
    let error = file(r#"{"a":{"dtype":"BF16","shape":[],"data_offsets":[0,0]}}"#);
    assert!(error.contains("is BF16; expected F32"), "{error}");
    let error = Checkpoint::read(&u64::MAX.to_le_bytes()).expect_err("no file").to_string();
    assert!(error.starts_with("the checkpoint is damaged at byte 0"), "{error}");
}

#[test]
fn gotcha_04_a_contract_has_a_version_and_no_fields_that_are_not_read() {
    let text = serde_json::to_string(&gru()).expect("JSON");
    let more = text.replacen('{', r#"{"momentum":0.9,"#, 1);
    let less = text.replacen(r#""delay":2,"#, "", 1);
    for changed in [more, less] {
        let header = serde_json::json!({"__metadata__": {"contract": changed}}).to_string();
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        let error = Checkpoint::read(&bytes).expect_err("another set of fields");
        assert_eq!(error.field(), Some("contract"));
        let message = error.to_string();
        assert!(message.contains("momentum") || message.contains("delay"), "{message}");
    }
    let mut newer = gru();
    newer.format += 1;
    assert_eq!(refused(&newer).to_string(), "the checkpoint's `format` is 2; expected 1");
}

#[test]
fn gotcha_09_a_file_holds_the_bits_of_the_weights() {
    let contract = gru();
    let mut tensors = tensors(&contract);
    // A negative zero, the smallest number, the largest, and one with all bits of its fraction.
    let odd = [-0.0, f32::from_bits(1), f32::MAX, f32::from_bits(0x3f7f_ffff)];
    tensors.get_mut("heads.input.weight").expect("it is there").values[..4].copy_from_slice(&odd);
    let bytes = Checkpoint::new(contract, tensors).expect("they fit").write();
    let read = Checkpoint::read(&bytes).expect("our own file");
    let found = &read.values("heads.input.weight")[..4];
    assert_eq!(found.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), odd.map(f32::to_bits));
}

#[test]
fn gotcha_13_a_file_says_which_build_and_which_features_made_it() {
    let contract = checkpoint().contract().clone();
    assert_eq!(contract.build, plain::policy::build_id());
    assert!(contract.build.starts_with(env!("CARGO_PKG_VERSION")), "{}", contract.build);
    // The hash is that of the text in the file, by this build's features.
    let schema = contract.features().expect("a schema");
    assert_eq!(contract.schema_hash, format!("{:016x}", schema.hash()));
    let mut stale = gru();
    stale.schema = stale.schema.replacen("0.05", "0.06", 1);
    assert_eq!(refused(&stale).field(), Some("schema_hash"));
}

#[test]
fn gotcha_13_a_build_of_a_checkout_knows_its_commit() {
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.git");
    let build = plain::policy::build_id();
    let commit = build.split(' ').nth(2).expect("version, profile and commit");
    if repository.exists() && std::env::var_os("EXMC_COMMIT").is_none() {
        assert!(commit.len() == 12 && commit.bytes().all(|b| b.is_ascii_hexdigit()), "{build}");
    } else {
        assert!(!commit.is_empty(), "{build}");
    }
}
