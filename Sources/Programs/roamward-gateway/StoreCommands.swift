import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayStore
import KernelModel
import LinuxIO
import Terminal

struct Store: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store",
    abstract: "Manage the store: show, move, copy, check or replace it.",
    discussion: """
      A store is a file of SQLite, or a database of PostgreSQL, which several gateways may share: 'host=db.example dbname=gateway', as \
      libpq's connection strings are written. `-` reads it from standard input, where no other user sees a password.
      """, subcommands: [Show.self, Move.self, Copy.self, Check.self, Use.self, StaleAfter.self], defaultSubcommand: Show.self)

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show which store is used.",
      discussion: "Example: `roamward-gateway store show`")
    @OptionGroup var state: StateOptions

    func run() throws {
      let view = try state.folder.store().load()
      let name = try state.folder.storeServer().map(withoutPassword) ?? state.folder.storePath
      write("\(name)  version \(view.version), \(view.directory.devices.count) devices\n")
    }
  }

  struct Copy: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "copy",
      abstract: "Copy the store into a new file, or an empty database.",
      discussion: """
        The gateway may run, and does not use the copy.

        Example: `roamward-gateway store copy 'host=db.example dbname=roamward'`
        """)
    @Argument(help: "The file or the connection string.", completion: .file()) var target: String
    @OptionGroup var state: StateOptions

    func run() throws {
      let (from, to) = (try state.folder.store(), try OtherStore(target))
      let count = try to.filling { try from.copy(to: $0) }
      write("\(count) rows\n")
    }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Check the store: references, leases, the audit log.",
      discussion: """
        Exit status: 0 no problems; 1 problems.

        Example: `roamward-gateway store check`
        """)
    @OptionGroup var state: StateOptions

    func run() throws {
      let problems = try state.folder.store().problems()
      write(problems.isEmpty ? ["no problems found"] : problems)
      if !problems.isEmpty { throw ExitStatus.refused }
    }
  }

  struct Use: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "use",
      abstract: "Use another store: `file`, or a connection string.",
      discussion: """
        The other store has to be this gateway's: a copy of the present one, or one that another gateway with the same private key uses, \
        or an empty database before `roamward-gateway init`. The gateway must not run: it would go on with the present store. To take the \
        present store along, use `store move`. A gateway with a key of its own joins by `roamward-gateway init --site`.

        Example: `roamward-gateway store use 'host=db.example dbname=roamward'`
        """)
    @Argument(help: "`file` or the connection string.") var target: String
    @OptionGroup var state: StateOptions

    func run() throws {
      let folder = try state.folder
      let server = try OtherStore.server(target)
      try folder.make()
      let lock = try folder.lockForNewStore()
      defer { withExtendedLifetime(lock) {} }
      guard let server else {
        if folder.hasStoreFile { try GatewayStore(try SQLiteEngine(folder.storePath)).refuseIfMoved() }
        try folder.useStore(nil)
        return write("the store is \(folder.storePath)\n")
      }
      let sites = try OtherStore(server).filling { store in
        try store.refuseIfMoved()
        return try store.load()
      }.directory.sites.values
      let key = try folder.privateKey()?.publicKey
      if !sites.isEmpty, !sites.contains(where: { $0.publicKey == key }) {
        throw Failure.refused(
          "the store there belongs to a gateway with another key\n  help: put its key into \(folder.keyPath), then try again; "
            + "roamward-gateway init --site NAME --store TARGET joins as another gateway")
      }
      try folder.useStore(server)
      write(
        sites.isEmpty
          ? "the store there is empty: `roamward-gateway init` fills it\n" : "the store is \(withoutPassword(server)); start the gateway\n")
    }
  }
}

extension Store {
  struct Move: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "move",
      abstract: "Move the store to a database, or to the `file`.",
      discussion: """
        Copies everything and uses the copy, as one act: no other command can change the store between. Afterwards the store at its old \
        place refuses changes. A running gateway goes on with the store at its new place; everybody stays connected.

        Example: `roamward-gateway store move 'host=db.example dbname=roamward'`
        """)
    @Argument(help: "`file` or the connection string of an empty database.") var target: String
    @OptionGroup var state: StateOptions

    func run() throws {
      let folder = try state.folder
      try folder.refuseOtherStore()
      let server = try OtherStore.server(target)
      let count = try StoreMove(folder).run(to: server)
      let follows =
        switch StoreMove(folder).awaitGateway() {
        case nil: "; start the gateway"
        case true?: "; the running gateway uses it"
        case false?: ""
        }
      write("\(count) rows; the store is \(server.map(withoutPassword) ?? folder.storePath)\(follows)\n")
      if follows.isEmpty {
        throw Failure.refused(
          "the running gateway does not use it after 10 s\n  help: `journalctl -u roamward-gateway` says why; restart it")
      }
    }
  }

  struct StaleAfter: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "stale-after", abstract: "End all sessions when the server was away for so long.",
      discussion: """
        `1h`, `30m`, `90s`, or `off`, which is the usual: a gateway serves what it has read until its server is back. A revocation that \
        cannot be read has no effect meanwhile. The setting is of this gateway alone.

        Example: `roamward-gateway store stale-after 24h`
        """)
    @Argument(help: "The time, or `off`.") var time: String
    @OptionGroup var options: ChangeOptions

    func run() throws {
      if time == "off" {
        try options.set(.staleAfter, to: nil)
      } else {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = time.last.flatMap({ units[$0] }), let count = Int64(time.dropLast()), (1...1_000_000).contains(count) else {
          throw Failure.usage("\(time) is no time\n  help: 1h, 30m, 90s or off")
        }
        try options.state.requireServer("it is never away")
        // The store is asked every 5 seconds.
        guard count * unit >= 15 else { throw Failure.usage("\(time) is too short\n  help: at least 15s") }
        try options.set(.staleAfter, to: "\(count * unit)\n")
      }
    }
  }
}

/// A store that is named on the command line.
struct OtherStore {
  /// The connection string; `nil`: it is a file.
  let server: String?
  private let path: String

  /// The connection string of an argument, which may be `-`; `nil`: it is `file`.
  static func server(_ argument: String) throws -> String? {
    if argument == "file" { return nil }
    guard let server = try OtherStore(argument).server else {
      throw Failure.usage("\(argument) is no connection string\n  help: 'host=db.example dbname=gateway'")
    }
    return server
  }

  init(_ argument: String) throws {
    let text = argument == "-" ? readLine() ?? "" : argument
    path = text
    server = text.contains("=") || text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") ? text : nil
  }

  func filling<R>(viewpoint: WireGuardKey? = nil, _ body: (GatewayStore) throws -> R) throws -> R {
    if let server { return try body(try GatewayStore(StoreProcess(server), creating: true, viewpoint: viewpoint)) }
    // It has the store's secrets: no other user may read it, from its first byte.
    try TextFile.create(path, with: [], mode: 0o600)
    do {
      return try body(try GatewayStore(try SQLiteEngine(path, creating: true), creating: true))
    } catch {
      try? TextFile.remove(path)
      throw error
    }
  }
}

/// The part of a connection string that may be shown: the place of the database, and never a password, however that is written.
func withoutPassword(_ target: String) -> String {
  if let scheme = target.firstRange(of: "://") {
    // postgresql://user:password@host/database?password=…
    let place = target[scheme.upperBound...].split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    return "\(target[..<scheme.upperBound])\(place.prefix { $0 != "?" })"
  }
  // A quoted password may look like other words.
  if target.contains(where: { $0 == "'" || $0 == "\\" }) { return "a database of PostgreSQL" }
  let shown = target.split(separator: " ").filter { word in
    ["host=", "hostaddr=", "port=", "user=", "dbname="].contains { word.hasPrefix($0) }
  }
  return shown.isEmpty ? "a database of PostgreSQL" : shown.joined(separator: " ")
}
