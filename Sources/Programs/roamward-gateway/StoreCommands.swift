import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayPage
import GatewayStore
import JSON
import KernelModel
import LinuxIO
import Terminal

struct Store: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store",
    abstract: "Show the store, check, copy or move it.",
    discussion: """
      A store is a file of SQLite, or a database of PostgreSQL, which several gateways may share: 'host=db.example dbname=gateway', as \
      libpq's connection strings are written. `-` reads it from standard input, where no other user sees a password.
      """, subcommands: [Show.self, Move.self], defaultSubcommand: Show.self)

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show the store, its gateways and their pools.",
      discussion: """
        This gateway has a star. With --check, the whole store is checked: references, leases, the audit log.

        Exit status: 0 no problems; 1 problems.

        Example: `roamward-gateway store show --check`
        """)
    @Flag(help: "Check the store.") var check = false
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var state: StateOptions

    func validate() throws {
      if check, json { throw ValidationError("problems are lines: give one of --check and --json") }
    }

    func run() throws {
      let store = try state.folder.store()
      if check {
        let problems = try store.problems()
        write(problems.isEmpty ? ["no problems found"] : problems)
        if !problems.isEmpty { throw ExitStatus.refused }
        return
      }
      let view = try store.load()
      let name = try state.folder.storeServer().map(withoutPassword) ?? state.folder.storePath
      if json {
        let document = StoreDocument(place: name, revision: view.version, of: view.directory)
        return write([JSON(encoding: document).text(indented: true)])
      }
      write(
        ["\(name)  version \(view.version), \(view.directory.devices.count) devices"] + view.directory.siteList
          + view.directory.poolList.map { "  pool \($0)" })
    }
  }

  struct Move: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "move",
      abstract: "Move the store to a database, or to the `file`.",
      discussion: """
        Copies everything and uses the copy, as one act: no other command can change the store between. Afterwards the store at its old \
        place refuses changes. A running gateway goes on with the store at its new place; everybody stays connected.

        With --existing, nothing is copied. The store there has to be this gateway's: a copy of the present one, or one that another \
        gateway with the same private key uses, or an empty database before `roamward-gateway init`. The gateway must not run. A gateway \
        with a key of its own joins by `roamward-gateway init --site`.

        Example: `roamward-gateway store move 'host=db.example dbname=roamward'`
        """)
    @Argument(help: "`file` or the connection string.", completion: .file()) var target: String
    @Flag(help: "Use the store that is there, and copy nothing.") var existing = false
    @Flag(help: "Copy into a new file or an empty database, and stay.") var copyOnly = false
    @OptionGroup var trial: TrialOption
    @OptionGroup var state: StateOptions

    func validate() throws {
      if existing, copyOnly { throw ValidationError("give one of --existing and --copy-only") }
    }

    func run() throws {
      if existing { return try use() }
      if copyOnly { return try copy() }
      let folder = try state.folder
      try folder.refuseOtherStore()
      let server = try OtherStore.server(target)
      let place = server.map(withoutPassword) ?? folder.storePath
      if trial.dryRun { return write(["would move the store of \(try count()) devices to \(place)"] + trial.note) }
      let count = try StoreMove(folder).run(to: server)
      let follows =
        switch StoreMove(folder).awaitGateway() {
        case nil: "; start the gateway"
        case true?: "; the running gateway uses it"
        case false?: ""
        }
      write("\(count) rows; the store is \(place)\(follows)\n")
      if follows.isEmpty {
        throw Failure.refused(
          "the running gateway does not use it after 10 s\n  help: `journalctl -u roamward-gateway` says why; restart it")
      }
    }

    private func count() throws -> Int { try state.folder.store().load().directory.devices.count }

    private func copy() throws {
      let (from, to) = (try state.folder.store(), try OtherStore(target))
      if trial.dryRun { return write(["would copy the store of \(try count()) devices"] + trial.note) }
      let count = try to.filling { try from.copy(to: $0) }
      write("\(count) rows\n")
    }

    private func use() throws {
      let folder = try state.folder
      let server = try OtherStore.server(target)
      try folder.make()
      let lock = try folder.lockForNewStore()
      defer { withExtendedLifetime(lock) {} }
      guard let server else {
        if folder.hasStoreFile { try GatewayStore(try SQLiteEngine(folder.storePath)).refuseIfMoved() }
        if !trial.dryRun { try folder.useStore(nil) }
        return write(["the store is \(folder.storePath)"] + trial.note)
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
      if !trial.dryRun { try folder.useStore(server) }
      write(
        [
          sites.isEmpty
            ? "the store there is empty: `roamward-gateway init` fills it" : "the store is \(withoutPassword(server)); start the gateway"
        ] + trial.note)
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
