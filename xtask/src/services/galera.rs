//! Three MariaDB nodes that replicate to each other through Galera, each with its own ports on the loopback device.
//!
//! The first node starts the cluster; the others join it and copy its data (by rsync). After that all three know each
//! other, and a node that was killed joins again through whichever is left. All have the same user and password.

use std::path::Path;
use std::time::{Duration, Instant};

use super::mariadb;
use super::process;
use super::server::{Server, random_word};
use super::{Folder, install};
use crate::run::Done;

/// The nodes.
pub const NODES: [&str; 3] = ["galera-1", "galera-2", "galera-3"];

/// How long a node may take to have the cluster's data.
const PATIENCE: Duration = Duration::from_secs(120);

/// Starts the cluster, or what is missing of it.
pub fn start(folder: &Folder) -> Done<Vec<Server>> {
    let known: Vec<Server> = NODES
        .iter()
        .map(|name| Server::load(folder, name))
        .collect::<Done<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect();
    match known.len() {
        3 if known.iter().any(Server::is_running) => rejoin(folder, known),
        // A cluster of which no node runs has no state that all agree on.
        _ => {
            known.iter().try_for_each(|server| server.remove(folder))?;
            start_new(folder)
        }
    }
}

fn rejoin(folder: &Folder, mut nodes: Vec<Server>) -> Done<Vec<Server>> {
    for node in &mut nodes {
        let seen = synced_count(&node.log());
        if !node.is_running() {
            node.start(folder)?;
            wait_until_synced(node, seen)?;
        }
    }
    Ok(nodes)
}

fn start_new(folder: &Folder) -> Done<Vec<Server>> {
    // A port for clients, one for the group, one for copying what a node missed and one for copying everything.
    let ports = process::free_ports(4 * NODES.len())?;
    let ports: Vec<&[u16]> = ports.chunks(4).collect();
    let group: Vec<String> = ports.iter().map(|ports| format!("127.0.0.1:{}", ports[1])).collect();
    let password = random_word()?;
    let library = install::program("libgalera_smm.so")?;
    let mut nodes = Vec::new();
    for (name, ports) in NODES.iter().zip(&ports) {
        let mut node = mariadb::new_server(folder, name, ports[0], &password)?;
        node.command.extend(options(name, ports, &group.join(","), &library));
        start_first_time(folder, &mut node, nodes.is_empty())?;
        nodes.push(node);
    }
    Ok(nodes)
}

/// The first node starts the cluster with a word that it must not be started with again.
fn start_first_time(folder: &Folder, node: &mut Server, founds: bool) -> Done {
    let lasting = node.command.clone();
    if founds {
        node.command.push("--wsrep-new-cluster".to_owned());
    }
    node.start(folder)?;
    wait_until_synced(node, 0)?;
    node.command = lasting;
    node.save(folder)
}

fn options(name: &str, ports: &[u16], group: &str, library: &Path) -> Vec<String> {
    let provider = format!(
        "gmcast.listen_addr=tcp://127.0.0.1:{0}; base_port={0}; ist.recv_addr=127.0.0.1:{1}; gcache.size=64M",
        ports[1], ports[2]
    );
    vec![
        "--wsrep-on=ON".to_owned(),
        format!("--wsrep-provider={}", library.display()),
        format!("--wsrep-provider-options={provider}"),
        format!("--wsrep-cluster-address=gcomm://{group}"),
        "--wsrep-cluster-name=isoscope".to_owned(),
        format!("--wsrep-node-name={name}"),
        "--wsrep-node-address=127.0.0.1".to_owned(),
        "--wsrep-sst-method=rsync".to_owned(),
        format!("--wsrep-sst-receive-address=127.0.0.1:{}", ports[3]),
        "--binlog-format=ROW".to_owned(),
        "--innodb-autoinc-lock-mode=2".to_owned(),
    ]
}

/// Waits until a node says in its log that it has the cluster's data, once more than before.
fn wait_until_synced(node: &Server, seen: usize) -> Done {
    let started = Instant::now();
    while synced_count(&node.log()) <= seen {
        if !node.is_running() || started.elapsed() > PATIENCE {
            return Err(format!("{} did not join the cluster; {}", node.name, process::end_of(&node.log())));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    process::wait_for_port(node.pid, node.port, &node.log())
}

fn synced_count(log: &Path) -> usize {
    let text = std::fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&text).matches("Synchronized with group, ready for connections").count()
}
