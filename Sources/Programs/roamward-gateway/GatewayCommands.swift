import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayPage
import GatewaySource
import GatewayStore
import KernelModel
import KeyMemory
import LinuxIO
import NetworkTypes
import Terminal

struct Initialise: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Create a gateway: key, store, pools.",
    discussion: """
      Run again, it changes the endpoint and the link, and keeps everything else. New gateways get the pools 10.77.0.0/24 and a random \
      /64 of fd00::/8, with masquerade; nobody has access to anything before the first `roamward-gateway access add`.

      With --site and --store, this machine becomes a further gateway of a store that another one uses: with a key and pools of its own.

      Example: `roamward-gateway init --endpoint vpn.example:51820 --pool 10.77.0.0/24`
      """)

  @Option(help: ArgumentHelp("The name or address for clients, and the UDP port.", valueName: "host[:port]"))
  var endpoint: EndpointArgument
  @Option(help: "The name of the WireGuard link.") var link = "wg-gateway"
  @Option(help: "A pool instead of the usual ones; may be repeated.", transform: prefixArgument(_:)) var pool: [IPPrefix] = []
  @Flag(inversion: .prefixedNo, help: "Masquerade packets of the pools.") var nat = true
  @Option(help: "The name of this gateway among several.") var site: GatewayName?
  @Option(help: ArgumentHelp("Join the gateways of this store (libpq's connection string).", valueName: "target")) var store: String?
  @OptionGroup var trial: TrialOption
  @OptionGroup var state: StateOptions

  func validate() throws {
    if trial.dryRun, store != nil { throw ValidationError("a gateway joins a store whole: give one of --dry-run and --store") }
  }

  func run() throws {
    guard GatewayName(link) != nil, let link = InterfaceName(link) else {
      throw ValidationError("--link: \(link) is no name for a link; use at most 15 letters, digits, `.`, `_` and `-`")
    }
    let folder = try state.folder
    if trial.dryRun { return show(try tryOut(folder, link: link)) }
    try folder.make()
    let key = try folder.privateKey() ?? folder.makePrivateKey()
    guard let publicKey = key.publicKey else { throw Failure.refused("the private key has no public key") }
    let directory = try change(publicKey) { work throws(GatewayError) in try initialise(&work, publicKey, link: link) }
    folder.announceChange()
    show(directory)
  }

  private func show(_ directory: Directory) {
    write(["gateway \(endpoint.endpoint), link \(link)"] + directory.poolList.map { "pool \($0)" } + trial.note)
  }

  /// The gateway as it would be: with a key that is not kept, where there is none.
  private func tryOut(_ folder: StateFolder, link: InterfaceName) throws -> Directory {
    guard let key = try (folder.privateKey() ?? SecretKey.random()).publicKey else { throw Failure.refused("there is no public key") }
    let now = Timestamp.now.wholeSecond
    if try folder.hasStoreFile || folder.storeServer() != nil {
      return try folder.store().tryOut(as: Actor.current, at: now) { work throws(GatewayError) in
        try initialise(&work, key, link: link)
      }
    }
    var work = Administration(Directory(viewpoint: key), lastID: 0, actor: Actor.current, now: now)
    return try initialise(&work, key, link: link)
  }
}

extension Initialise {
  private func change(
    _ key: WireGuardKey, _ body: (inout Administration) throws(GatewayError) -> Directory
  ) throws -> Directory {
    func run(_ store: GatewayStore) throws -> Directory { try store.change(as: Actor.current, at: Timestamp.now.wholeSecond, body) }
    guard let target = store else {
      try state.folder.refuseOtherStore()
      return try run(try state.folder.store(creating: true))
    }
    let other = try OtherStore(target)
    guard let server = other.server, site != nil else {
      throw ValidationError("--store: give a connection string, such as 'host=db.example dbname=gateway', and --site")
    }
    let lock = try state.folder.lockForNewStore()
    defer { withExtendedLifetime(lock) {} }
    let directory = try other.filling(viewpoint: key) { store in
      try store.refuseIfMoved()
      return try run(store)
    }
    try state.folder.useStore(server)
    return directory
  }

  private func initialise(_ work: inout Administration, _ key: WireGuardKey, link: InterfaceName) throws(GatewayError) -> Directory {
    let sites = work.directory.sites.values
    let isOwn = sites.contains { $0.publicKey == key }
    let isNew = sites.isEmpty || !isOwn
    if sites.isEmpty || isOwn {
      work.setSite(endpoint.endpoint, publicKey: key, link: link)
      if let site, let present = work.directory.site?.name { try work.renameSite(present, to: site) }
    } else if let site {
      try work.addSite(site, endpoint.endpoint, publicKey: key, link: link)
    } else {
      throw GatewayError(
        "the store belongs to a gateway with another key",
        help: "put its key into \(state.place.keyPath), then try again; --site NAME makes this a further gateway with a key of its own")
    }
    guard isNew else { return work.directory }
    if pool.isEmpty { try UniqueLocal.addUsualPools(to: &work, isTranslated: nat) }
    for prefix in pool {
      if let name = UsualPools(beside: work.directory).name { try work.addPool(name, prefix, isTranslated: nat) }
    }
    return work.directory
  }
}

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Run the gateway in the foreground.",
    discussion: """
      Files that declare it are carried out at the start and when they change. Ends with SIGTERM, and leaves link, peers and rules as \
      they are: everybody stays connected. `roamward-gateway cleanup` removes them.

      The kernel's forwarding of packets is never turned off: other programs may rely on it.

      Example: `roamward-gateway serve`
      """)

  @Flag(help: "Enable the kernel's forwarding for the pools, and end.") var forwarding = false
  @OptionGroup var files: FileOptions

  func run() throws {
    if forwarding { return try enableForwarding() }
    let status = try GatewayServer(files.state.folder, files.declared).run()
    if status != 0 { throw ExitCode(status) }
  }

  private func enableForwarding() throws {
    // While the store's server is away, what was read last decides; before the first start, the files.
    let file = files.declared.load().file
    let declared = (file.declaration.pools?.value ?? []).map(\.value.prefix.family)
    let folder = try files.state.folder
    guard file.host.texts[.forwarding].map({ $0.value == nil }) ?? folder.forwards else { return }
    let known = try declared.isEmpty || folder.hasStoreFile ? folder.known().view.directory.families : []
    for family in Set(declared + known) where !Forwarding.isOn(family) { try Forwarding.turnOn(family) }
  }
}

struct TakeOver: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "take-over",
    abstract: "Take over the sessions of the other gateway.",
    discussion: """
      For the program that moves the address of a pair (keepalived: `notify_master`), when this machine has got it. Without it devices \
      notice by themselves, within 15 seconds.

      Example: `roamward-gateway take-over`
      """)

  @OptionGroup var trial: TrialOption
  @OptionGroup var state: StateOptions

  func run() throws {
    try state.requireServer("there is no other gateway")
    // Its lock is free.
    if try state.folder.lock() != nil {
      throw Failure.refused("no gateway runs\n  help: start it with `systemctl start roamward-gateway`, then try again")
    }
    if trial.dryRun { return write(["take over the sessions of the other gateway"] + trial.note) }
    try state.folder.announceTakeOver()
  }
}

struct Cleanup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cleanup",
    abstract: "Remove the gateway's link, routes and firewall table.",
    discussion: "Example: `roamward-gateway cleanup`")

  @OptionGroup var trial: TrialOption
  @OptionGroup var state: StateOptions

  func run() throws {
    guard let lock = try state.folder.lock() else {
      throw Failure.refused("the gateway runs\n  help: stop it first, with `systemctl stop roamward-gateway`")
    }
    if trial.dryRun { return write(try HostCleanup.steps(state.folder) + trial.note) }
    try HostCleanup.run(state.folder) { write($0 + "\n") }
    withExtendedLifetime(lock) {}
  }
}
