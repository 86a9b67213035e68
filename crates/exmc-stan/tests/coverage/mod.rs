//! Every function of the checker's library, called in the density and in generated quantities ->
//! the list in docs/stan.md of what cannot be run. `EXMC_BLESS=1` writes the list.
//!
//! A signature is tried when it has a type at a position that none before it of the same name had:
//! each form that an argument may take is tried, not each combination. Arrays of arrays behave as
//! arrays, so they are tried up to two dimensions.

mod arguments;
mod solvers;
mod trial;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use exmc_stan::check::signatures::{Signature, names, signatures};
use exmc_stan::check::{higher_order, spell};
use exmc_stan::typed::Type;

use arguments::{call, parameter_call};
use trial::{Trial, density, quantities};

/// Deeper arrays are not tried.
const DEEPEST: usize = 2;

/// A form of a function with what came of it.
struct Tried {
    name: String,
    signature: String,
    density: Option<Trial>,
    tape: Option<Trial>,
    quantities: Option<Trial>,
}

/// Whether integers are taken for an argument whose values lie strictly between two integers.
fn has_no_values(name: &str, signature: &Signature) -> bool {
    name == "skew_double_exponential_rng" && signature.arguments[2].ty.array_parts().1 == &Type::Int
}

fn depth(ty: &Type) -> usize {
    ty.array_parts().0
}

/// The signatures of a name that show each type at each position.
fn representatives(name: &str) -> Vec<Signature> {
    let mut seen = BTreeSet::new();
    let shallow = |s: &Signature| s.arguments.iter().all(|a| depth(&a.ty) <= DEEPEST);
    signatures(name)
        .into_iter()
        .filter(shallow)
        .filter(|s| {
            let mut is_new = s.arguments.is_empty();
            for (k, argument) in s.arguments.iter().enumerate() {
                is_new |= seen.insert((s.arguments.len(), k, spell(&argument.ty)));
            }
            is_new
        })
        .collect()
}

fn tried_functions() -> Vec<Tried> {
    let mut all = Vec::new();
    for name in names() {
        for signature in representatives(name) {
            let is_random = name.ends_with("_rng");
            let adds = name.ends_with("_jacobian");
            let mut one = Tried {
                name: name.clone(),
                signature: signature
                    .arguments
                    .iter()
                    .map(|a| spell(&a.ty))
                    .collect::<Vec<_>>()
                    .join(", "),
                density: None,
                tape: None,
                quantities: None,
            };
            if !is_random {
                let call = parameter_call(name, &signature);
                one.density = Some(density(&call));
                one.tape = Some(trial::tape(&call));
            }
            if !adds && !has_no_values(name, &signature) {
                one.quantities = Some(quantities(&call(name, &signature)));
            }
            all.push(one);
        }
    }
    for (name, form, in_density, in_quantities) in solvers::programs() {
        all.push(Tried {
            name: name.to_owned(),
            signature: form.to_owned(),
            tape: in_density.as_ref().map(|text| trial::tape_of(text, &[-0.4])),
            density: in_density.map(|text| trial::density_of(&text)),
            quantities: in_quantities.map(|text| trial::quantities_of(&text)),
        });
    }
    all
}

/// Lines of one list: a name alone where no form of it runs, else the forms that do not.
fn list(tried: &[Tried], place: fn(&Tried) -> Option<&Trial>) -> String {
    let refused = |one: &&Tried| matches!(place(one), Some(Trial::Refused(_)));
    let mut text = String::new();
    let names: BTreeSet<&str> = tried.iter().filter(refused).map(|one| one.name.as_str()).collect();
    for name in names {
        let of_name = || tried.iter().filter(|one| one.name == name && place(one).is_some());
        let forms: Vec<&str> =
            of_name().filter(refused).map(|one| one.signature.as_str()).collect();
        if forms.len() == of_name().count() {
            let _ = writeln!(text, "- `{name}`");
        } else {
            let forms: Vec<String> = forms.iter().map(|form| format!("`({form})`")).collect();
            let _ = writeln!(text, "- `{name}` of {}", forms.join(", "));
        }
    }
    if text.is_empty() { "- nothing\n".into() } else { text }
}

#[test]
fn the_list_of_what_cannot_be_run_is_true() {
    let start = std::time::Instant::now();
    let tried = tried_functions();
    for name in higher_order::names() {
        assert!(tried.iter().any(|one| one.name == name), "no program calls {name}");
    }
    let mut unfit = Vec::new();
    for one in &tried {
        for trial in [&one.density, &one.tape, &one.quantities].into_iter().flatten() {
            if let Trial::Unfit(why) = trial {
                unfit.push(format!("{}({}): {why}", one.name, one.signature));
            }
            if std::env::var_os("EXMC_SHOW").is_some()
                && let Trial::Refused(why) = trial
            {
                println!("{}({}): {why}", one.name, one.signature);
            }
        }
    }
    assert!(
        unfit.is_empty(),
        "{} calls have no fitting arguments:\n{}",
        unfit.len(),
        unfit.join("\n")
    );
    let mut text = String::from("In the density, of parameters:\n\n");
    text += &list(&tried, |one| one.density.as_ref());
    text += "\nIn the density on the interpreter's tape:\n\n";
    text += &list(&tried, |one| one.tape.as_ref());
    text += "\nIn transformed data and generated quantities:\n\n";
    text += &list(&tried, |one| one.quantities.as_ref());
    println!("{} calls, {:.1} s", tried.len(), start.elapsed().as_secs_f64());
    compare(&text);
}

/// Compares the list with the page's, or writes it there.
fn compare(text: &str) {
    const BEGIN: &str = "<!-- refused: begin (made by `EXMC_BLESS=1 cargo test -p exmc-stan --test all coverage::`) -->\n";
    const END: &str = "<!-- refused: end -->";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/stan.md");
    let page = std::fs::read_to_string(path).expect("docs/stan.md can be read");
    let (before, rest) = page.split_once(BEGIN).expect("docs/stan.md has the list's first marker");
    let (found, after) = rest.split_once(END).expect("docs/stan.md has the list's last marker");
    if found == text {
        return;
    }
    if std::env::var_os("EXMC_BLESS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{text}{END}{after}"))
            .expect("docs/stan.md can be written");
        return;
    }
    let computed: BTreeSet<&str> = text.lines().collect();
    let theirs: BTreeSet<&str> = found.lines().collect();
    let missing: Vec<_> = computed.difference(&theirs).collect();
    let stale: Vec<_> = theirs.difference(&computed).collect();
    panic!(
        "docs/stan.md: its list lacks {missing:#?}\nand has without need {stale:#?}\n(EXMC_BLESS=1 writes it)"
    );
}
