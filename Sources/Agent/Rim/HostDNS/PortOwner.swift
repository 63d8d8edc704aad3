internal import Glibc
internal import LinuxIO
package import NetworkTypes
internal import Wire

/// The program that holds a port, as far as this process may see it.
///
/// The agent has no CAP_SYS_PTRACE, so it may not look at the descriptors of other users' programs. It knows the control group in which the
/// socket was made, and so the unit; of a unit with one process, the program too.
struct PortOwner: Equatable {
  struct Program: Equatable {
    /// Its name, of at most 15 characters.
    var name: String
    var process: Int32
  }

  var program: Program?
  /// The unit of systemd, or the control group of another manager.
  var unit: String?
  /// The address at which it receives.
  var address: IPAddress

  init(program: Program?, unit: String?, address: IPAddress) {
    self.program = program
    self.unit = unit
    self.address = address
  }

  /// `nil`: the port of this address is free. Sockets of this process do not count.
  init?(of wanted: IPAddress, port: UInt16) {
    let taken = SocketTable.sockets(at: port).filter { $0.takes(wanted) && !Self.has(UInt64($0.inode), Int32(getpid())) }
    // The one at the address itself gets its messages.
    guard let socket = taken.first(where: { $0.address == wanted }) ?? taken.first else { return nil }
    self.init(of: socket)
  }

  /// The program that has a UDP port at any address; `nil`: it is free. Sockets of this process and those with a mark of ours do not count.
  init?(ofDatagramsAt port: UInt16, isOwn: (UInt32) -> Bool) {
    let taken = SocketTable.sockets(at: port, streams: [false]).filter { socket in
      !(socket.mark.map(isOwn) ?? false) && !Self.has(UInt64(socket.inode), Int32(getpid()))
    }
    guard let socket = taken.first else { return nil }
    self.init(of: socket)
  }

  fileprivate init(of socket: ListeningSocket) {
    address = socket.address
    // Processes without a group of their own are in the root.
    let group = socket.controlGroup.flatMap { controlGroup(numbered: $0) }.flatMap { $0 == "/" ? nil : $0 }
    unit = group.flatMap { $0.split(separator: "/").last.map(String.init) }
    let processes = group.map { Self.processes(of: $0) } ?? Self.processes
    let owner =
      processes.prefix(Self.mostProcesses).first { Self.has(UInt64(socket.inode), $0) }
      ?? (unit != nil && processes.count == 1 ? processes.first : nil)
    program = owner.flatMap { process in Self.name(of: process).map { Program(name: $0, process: process) } }
  }

  /// Limits what is read on a machine with very many processes.
  private static let mostProcesses = 4096

  private static func name(of process: Int32) -> String? {
    (try? TextFile.read("/proc/\(process)/comm")).map { String(decoding: $0.prefix { $0 != 10 }, as: UTF8.self) }
  }

  /// All processes.
  private static var processes: [Int32] { Folder.names(in: "/proc").compactMap { Int32($0) } }

  /// Those of a control group.
  private static func processes(of group: String) -> [Int32] {
    let path = "/sys/fs/cgroup/\(controlGroupMount ?? "")\(group)/cgroup.procs"
    let text = (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    return text.split(separator: "\n").compactMap { Int32($0) }
  }

  /// Whether a process has the socket open; false too if this process may not look.
  private static func has(_ inode: UInt64, _ process: Int32) -> Bool {
    let wanted = "socket:[\(inode)]"
    return Folder.names(in: "/proc/\(process)/fd").contains { FileNature.linkTarget(of: "/proc/\(process)/fd/\($0)") == wanted }
  }
}

/// The program that waits at a port of this address, or of all addresses: its name, if it is known, its address, and as words. `nil`: none
/// but this process.
package func listener(at address: IPAddress, port: UInt16) -> (program: String?, address: IPAddress, words: String)? {
  PortOwner(of: address, port: port).map { ($0.program?.name, $0.address, $0.description) }
}

/// The TCP ports at which programs of this network namespace wait for connections. The kernel walks its connections for none of this.
package func listeningPorts() -> [(address: IPAddress, port: UInt16)] {
  SocketTable.sockets(at: 0, streams: [true]).map { ($0.address, $0.port) }
}

/// The addresses to which programs of this network namespace have connections, of TCP or UDP; `nil`: the kernel does not answer.
package func connectedAddresses() -> Set<IPAddress>? { SocketTable.connections(SocketDiagnosis.peer).map { Set($0) } }

/// The programs with connections to name servers by TLS (port 853) or, at these addresses, by HTTPS: `firefox (process 812) is connected to
/// 9.9.9.9, port 443`. Each once.
package func programsWithResolvers(at servers: Set<IPAddress>) -> [String] {
  let connections = SocketTable.connections { message -> (ListeningSocket, IPAddress, UInt16)? in
    guard let address = SocketDiagnosis.peer(of: message), let port = SocketDiagnosis.peerPort(of: message),
      port == 853 || port == 443 && servers.contains(address), let socket = ListeningSocket(message)
    else { return nil }
    return (socket, address, port)
  }
  return (connections ?? []).prefix(32).map { "\(PortOwner(of: $0)) is connected to \($1), port \($2)" }.uniqued()
}

/// The program that has a UDP port of this network namespace, at any address, as words; `nil`: the port is free, or a socket with a mark
/// that `isOwn` knows has it.
package func ownerOfDatagrams(at port: UInt16, isOwn: (UInt32) -> Bool) -> String? {
  PortOwner(ofDatagramsAt: port, isOwn: isOwn)?.description
}

extension PortOwner: CustomStringConvertible {
  /// `dnsmasq (process 812 of dnsmasq.service)`.
  var description: String {
    switch (program, unit) {
    case (let program?, let unit?): "\(program.name) (process \(program.process) of \(unit))"
    case (let program?, nil): "\(program.name) (process \(program.process))"
    case (nil, let unit?): "a program of \(unit)"
    case (nil, nil): "another program"
    }
  }

  /// The cure, for people: a command that frees the port.
  func cure(port: UInt16) -> String {
    let end =
      if let unit, unit.hasSuffix(".service") {
        "systemctl stop \(unit)"
      } else if let program {
        "end process \(program.process)"
      } else {
        "end it (`ss -lnp 'sport = :\(port)'` shows it)"
      }
    let isUnspecified = address.low == 0 && address.high == 0
    return isUnspecified
      ? "configure it for addresses of its own instead of \(address) (`bind-interfaces` of dnsmasq, `interface:` of unbound), or \(end)"
      : end
  }
}
