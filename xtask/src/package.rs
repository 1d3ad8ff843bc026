//! `cargo xtask package`: the library and the recorder as a user gets them.
//!
//! All crates that could be published are packaged, unpacked, and used by the programs of `examples/` in the library and
//! in the recorder, which see nothing of this folder: a file outside of its package, a dependency without a version or a
//! name that only the workspace knows would be noticed here.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{Done, cargo, expect_success, output_of, root, target};

/// The programs, with the crate that each needs and nothing else.
const PROGRAMS: [(&str, &str, &str); 2] = [
    ("check", "isoscope", "crates/isoscope/examples/check.rs"),
    ("embed", "isoscope-record", "crates/record/examples/embed.rs"),
];

/// Packages the crates and builds the programs against the packages.
pub fn run() -> Done {
    let folder = target().join("packaged");
    let packages = packages()?;
    let mut words = vec!["package", "--quiet", "--no-verify", "--allow-dirty"];
    packages.iter().for_each(|package| words.extend(["--package", package.as_str()]));
    expect_success(&mut cargo(&words))?;
    let crates = folder.join("crates");
    if crates.exists() {
        fs::remove_dir_all(&crates).map_err(|error| format!("{}: {error}", crates.display()))?;
    }
    create(&crates)?;
    for package in &packages {
        let file = target().join("package").join(format!("{package}-{VERSION}.crate"));
        // The times in a package are all the same; without `m`, cargo would take changed files for those of the last run.
        expect_success(Command::new("tar").arg("xzmf").arg(&file).arg("-C").arg(&crates))?;
    }
    for (name, dependency, source) in PROGRAMS {
        build(&folder, &packages, name, dependency, source)?;
    }
    Ok(())
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The crates of the workspace that may be published.
fn packages() -> Done<Vec<String>> {
    let said = output_of(&mut cargo(&["metadata", "--format-version", "1", "--no-deps"]), &[0])?;
    let metadata: serde_json::Value = serde_json::from_str(&said).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let is_published = |package: &&serde_json::Value| package["publish"].is_null();
    let name = |package: &serde_json::Value| package["name"].as_str().map(str::to_owned);
    Ok(packages.iter().filter(is_published).filter_map(name).collect())
}

/// Builds a program in a folder of its own, as a user would.
fn build(folder: &Path, packages: &[String], name: &str, dependency: &str, source: &str) -> Done {
    let program = folder.join(name);
    create(&program.join("src"))?;
    let mut manifest = format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{dependency} = \
         \"{VERSION}\"\n\n[patch.crates-io]\n"
    );
    for package in packages {
        manifest.push_str(&format!("{package} = {{ path = \"../crates/{package}-{VERSION}\" }}\n"));
    }
    write(&program.join("Cargo.toml"), &manifest)?;
    let text = fs::read_to_string(root().join(source)).map_err(|error| format!("{source}: {error}"))?;
    write(&program.join("src/main.rs"), &text)?;
    // The versions that the project is tested with.
    fs::copy(root().join("Cargo.lock"), program.join("Cargo.lock")).map_err(|error| error.to_string())?;
    let mut check = cargo(&["check", "--quiet"]);
    expect_success(check.current_dir(&program).env("CARGO_TARGET_DIR", folder.join("build")))
}

fn create(folder: &Path) -> Done {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn write(path: &Path, text: &str) -> Done {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
