//! The Debian packages of a service, installed when they are missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Service;
use super::user::is_root;
use crate::run::{Done, expect_success};

/// The packages, and the file that shows each of them.
fn needs(service: Service) -> &'static [(&'static str, &'static str)] {
    const POSTGRES: &[(&str, &str)] = &[("postgresql", "postgres")];
    const MARIADB: &[(&str, &str)] = &[("mariadb-server", "mariadbd")];
    const GALERA: &[(&str, &str)] = &[
        ("mariadb-server", "mariadbd"),
        ("galera-4", "libgalera_smm.so"),
        // A node that joins gets its first state by rsync, whose script asks `ss` and `socat` about ports.
        ("rsync", "rsync"),
        ("iproute2", "ss"),
        ("socat", "socat"),
    ];
    match service {
        Service::Postgres => POSTGRES,
        Service::Mariadb => MARIADB,
        Service::Galera => GALERA,
    }
}

/// Installs what is missing.
pub fn packages(service: Service) -> Done {
    possible(service)?;
    let missing = missing(service);
    if missing.is_empty() {
        return Ok(());
    }
    debian_packages(&missing)
}

/// Installs packages with apt, which must be there and allowed.
pub fn debian_packages(packages: &[&str]) -> Done {
    if !Path::new("/usr/bin/apt-get").exists() || !is_root() {
        let packages = packages.join(" ");
        return Err(format!("{packages} not found; on Debian, as root, run: apt-get install {packages}"));
    }
    println!("installing {}", packages.join(", "));
    expect_success(apt().arg("update"))?;
    expect_success(apt().args(["install", "--yes", "--no-install-recommends"]).args(packages))
}

/// Whether the packages are there or can be installed; the error says what to do.
pub fn possible(service: Service) -> Done {
    let missing = missing(service);
    let command = format!("apt-get install {}", missing.join(" "));
    if missing.is_empty() {
        return Ok(());
    }
    if !Path::new("/usr/bin/apt-get").exists() {
        let missing = missing.join(", ");
        return Err(format!("{missing} not found, and this is not Debian: install the servers yourself"));
    }
    match is_root() {
        true => Ok(()),
        false => Err(format!("{} not found; as root, run: {command}", missing.join(", "))),
    }
}

fn missing(service: Service) -> Vec<&'static str> {
    let missing = needs(service).iter().filter(|(_, file)| find(file).is_none());
    missing.map(|(package, _)| *package).collect()
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    // Someone else's apt is waited for, and what apt says goes where progress goes.
    command.args(["-q", "-o", "DPkg::Lock::Timeout=300"]).env("DEBIAN_FRONTEND", "noninteractive");
    command.stdin(Stdio::null());
    command
}

/// A program or library of a server, wherever Debian puts it; of several versions the newest.
pub fn find(file: &str) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    folders.extend(["/usr/sbin", "/usr/local/sbin", "/usr/lib/galera"].map(PathBuf::from));
    folders.extend(postgres_versions());
    folders.into_iter().map(|folder| folder.join(file)).find(|path| path.is_file())
}

/// A program that must be there after the packages were installed.
pub fn program(file: &str) -> Done<PathBuf> {
    find(file).ok_or_else(|| format!("{file} not found although its package is installed"))
}

/// The folders of PostgreSQL's own programs, newest first.
fn postgres_versions() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/usr/lib/postgresql") else {
        return Vec::new();
    };
    let mut versions: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable_by(|left, right| right.cmp(left));
    versions.iter().map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin"))).collect()
}
