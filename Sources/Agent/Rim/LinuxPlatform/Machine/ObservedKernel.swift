internal import AgentCore
internal import KernelModel
internal import KernelNetwork
internal import NetworkTypes
internal import RoamwardCore

/// The kernel's state at the last read, and the subscription to the events of what it shows.
final class ObservedKernel {
  private let reader: KernelReader
  private var generations = LinkGenerations()
  /// The state at the last read.
  private(set) var lastRead: KernelState?
  /// Updated with the events to subscribe to after every observation; `nil` in a dry run.
  var events: KernelEvents?
  /// Called when announcements were set aside (`KernelEvents.hold`), or others come than count: they are to be drained soon.
  var eventsHeld: () -> Void = {}

  init() throws(NetlinkError) { reader = try KernelReader(tablesNamedBy: OtherVPNs.tables) }

  /// Forgets these links: their indexes may belong to other devices by now.
  func linksAreGone(_ links: Set<InterfaceIndex>) { for link in links { generations.linkIsGone(link) } }

  /// Reads the kernel's state and subscribes to the events of the observed objects. What a new subscription adds is read a second time: a
  /// change before it may have gone unnoticed.
  func read(_ need: ObservationRequest) throws(PlatformError) -> KernelState {
    do throws(NetlinkError) {
      let needsMAC = need.facts.contains(.gatewayMAC)
      var kernel = KernelState()
      if need.followsSteps, let events, events.hold() { eventsHeld() }
      for _ in 0..<3 {
        kernel = try reader.read(extraTables: Set(need.tables), everywhere: need.everywhere, neighbours: needsMAC)
        let interest = EventInterest(kernel, names: Set(need.wireGuardLinks + need.foreignLinks), hearsGateways: needsMAC)
        let subscription = events?.subscribe(to: interest)
        if subscription == .inexact { eventsHeld() }
        guard subscription == .wider else { break }
        if try reader.confirms(kernel, neighbours: needsMAC) { break }
      }
      generations.identify(&kernel.links)
      lastRead = kernel
      return kernel
    } catch {
      throw PlatformError(error.description, isTransient: error.isTransient)
    }
  }

  /// Whether the kernel has announced no change since the last read, apart from those that the steps of this applier made.
  func isAsObserved(butFor applier: KernelApplier) -> Bool {
    guard let events, let lastRead else { return false }
    let isSame = events.confirm(lastRead, changedBy: applier.port)
    if events.holds { eventsHeld() }
    return isSame
  }

  /// Whether the kernel's state is still as it was read last, as far as its changes are announced only now. An error counts as no.
  func confirmsLastRead(neighbours: Bool) -> Bool {
    guard var lastRead else { return true }
    // As the kernel tells them: it knows no generations.
    for i in lastRead.links.indices { lastRead.links[i].generation = 0 }
    return (try? reader.confirms(lastRead, neighbours: neighbours)) ?? false
  }
}
