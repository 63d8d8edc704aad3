internal import Glibc
package import HostDNS
internal import KernelNetwork
package import LinuxIO
package import NetworkTypes
internal import PolicySource
package import RoamwardCore
package import TunnelProviders

/// This machine: where observations come from and what steps are carried out on. The agent and the dry runs use the same one.
package final class LinuxMachine {
  package let resolvConf: ResolvConfBackend
  package let userspace: UserspaceWireGuard
  private let reader: KernelReader
  private let wifi: WiFiReader
  private let wireGuard: WireGuardKernel
  private let applier: KernelApplier
  private let ssidFile: String?
  /// Of the last observation: whose neighbour entries matter, and what they said.
  package private(set) var gateways: [IPAddress: MACAddress?] = [:]
  private var busFacts: [InterfaceIndex: (name: String, facts: BusFacts)] = [:]

  /// Opens the kernel's sockets, in the network namespace of the calling thread.
  package init(ssidFile: String?, resolvConf: String, stateDirectory: String, loop: EventLoop? = nil) throws(WorldError) {
    self.ssidFile = ssidFile
    self.resolvConf = ResolvConfBackend(path: resolvConf, stateDirectory: stateDirectory)
    do {
      userspace = UserspaceWireGuard(on: try loop ?? EventLoop())
      reader = try KernelReader()
      wifi = try WiFiReader()
      wireGuard = try WireGuardKernel()
      applier = try KernelApplier()
    } catch {
      throw WorldError("the kernel cannot be asked: \(error)")
    }
  }

  /// Reads everything anew.
  package func observe(_ need: Need) throws(WorldError) -> Observation {
    let kernel: KernelState
    do throws(NetlinkError) {
      kernel = try reader.read(extraTables: Set(need.tables), everywhere: need.everywhere)
    } catch {
      throw WorldError(error.description)
    }
    let radios = wifi.read(links: kernel.links)
    let sources = UnderlaySources(
      kernel: kernel, types: types(of: kernel.links, radios: Set(radios.keys)), wifi: radios, resolvConf: underlayResolver,
      ssidFile: need.ssid ? ssidFile.map(ssidFact) : nil, time: .known(.now), power: powerSource())
    let snapshot = NetworkSnapshot(sources)
    gateways = [:]
    for gateway in snapshot.primaryLink?.gateways ?? [] {
      let entry = kernel.neighbours.first { $0.link == snapshot.primary && $0.address == gateway }
      gateways[gateway] = .some(entry?.macAddress)
    }
    var devices: [String: WireGuardState] = [:]
    for name in need.wireGuardLinks { devices[name] = state(of: name, in: kernel) }
    var state = ObservedState(kernel: kernel, wireGuard: devices, resolvConf: resolvConf.observe())
    if need.firewall != .nothing { state.firewall = firewall?.observe(trusting: need.firewall == .name) ?? .absent }
    state.isReversePathStrict = snapshot.primary.map(checksReversePathStrictly) ?? false
    return Observation(snapshot: snapshot, state: state)
  }

  /// The kernel's own WireGuard, else wireguard-go where it is installed. To know for sure, makes a link and removes it.
  package private(set) lazy var wireGuardEngine = engine(isKernels: wireGuard.isSupported())

  /// The same for a dry run: nothing is made.
  package var likelyWireGuardEngine: EngineChoice { engine(isKernels: wireGuard.isLikely()) }

  private func engine(isKernels: Bool) -> EngineChoice {
    if isKernels { return .engine(.kernel) }
    if isInstalled("wireguard-go") { return .engine(.userspace) }
    return .none(because: "this kernel has no WireGuard, and wireguard-go is not installed; cure: apt install wireguard-go")
  }

  /// Carries out the steps in order; gives those that failed.
  package func apply(_ steps: [Step]) -> [StepFailure] {
    var failures: [StepFailure] = []
    var rest = steps[...]
    while let step = rest.first {
      let batch = rest.prefix { !$0.isOutsideKernel }
      if batch.isEmpty {
        if let reason = applyOutsideKernel(step) { failures.append(StepFailure(step: step, reason: reason)) }
        rest = rest.dropFirst()
      } else {
        failures += applier.apply(Array(batch)).compactMap { result in
          result.error.map { StepFailure(step: result.step, reason: $0.reason) }
        }
        rest = rest.dropFirst(batch.count)
      }
    }
    return failures
  }

  /// Configures the device from nothing, so that every peer has to answer anew. Gives what went wrong.
  package func renewSessions(_ link: String, _ device: WireGuardDevice) -> String? {
    do {
      switch device.engine {
      case .kernel: try wireGuard.configureAnew(link: link, device)
      case .userspace: try userspace.configure(link, device, observed: nil, settingEndpoints: true)
      }
      return nil
    } catch {
      return "\(error)"
    }
  }

  private func applyOutsideKernel(_ step: Step) -> String? {
    do {
      switch step {
      case .configureWireGuard(let link, let device):
        try userspace.configure(link, device, observed: try userspace.read(link))
      case .writeResolvConf(let file): try resolvConf.write(file)
      case .restoreResolvConf: try resolvConf.restore()
      case .replaceFirewall(let table): try requiredFirewall.replace(table)
      case .removeFirewall: try requiredFirewall.remove()
      default: return "it is not a step that can be made at once"
      }
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Opened at its first use: most machines never need it.
  private lazy var firewall: NftablesBackend? = try? NftablesBackend()

  private var requiredFirewall: NftablesBackend {
    get throws(NftablesError) {
      if let firewall { return firewall }
      let opened = try NftablesBackend()
      firewall = opened
      return opened
    }
  }

  // MARK: Facts

  private var underlayResolver: Fact<ResolvConf> {
    switch resolvConf.underlayText() {
    case .known(let text): .known(ResolvConf(parsing: text))
    case .unknown(let reason): .unknown(because: reason)
    }
  }

  private func types(of links: [Link], radios: Set<InterfaceIndex>) -> [InterfaceIndex: InterfaceType] {
    var types: [InterfaceIndex: InterfaceType] = [:]
    var facts: [InterfaceIndex: (name: String, facts: BusFacts)] = [:]
    for link in links where !link.isLoopback {
      // What a device is plugged into does not change while it keeps its index and name.
      let known = busFacts[link.index].flatMap { $0.name == link.name ? $0 : nil } ?? (name: link.name, facts: BusFacts(of: link))
      facts[link.index] = known
      types[link.index] = interfaceType(of: link, isWiFi: radios.contains(link.index), bus: known.facts)
    }
    busFacts = facts
    return types
  }

  private func state(of link: String, in kernel: KernelState) -> WireGuardState? {
    guard let found = kernel.link(named: link) else { return nil }
    if found.kind == "wireguard" { return (try? wireGuard.read(link)) ?? nil }
    return (try? userspace.read(link)) ?? nil
  }
}

extension Step {
  /// Whether something else than the kernel has to carry it out.
  fileprivate var isOutsideKernel: Bool {
    switch self {
    case .writeResolvConf, .restoreResolvConf, .replaceFirewall, .removeFirewall, .addWireGuardLink(_, .userspace): true
    case .configureWireGuard(_, let device): device.engine == .userspace
    default: false
    }
  }
}

/// A missing file is no network; one that cannot be read is not known.
private func ssidFact(_ path: String) -> Fact<SSID?> {
  do throws(SystemError) {
    return parseSSIDFact(try TextFile.read(path, limit: 4096))
  } catch {
    return error.code == ENOENT ? .known(nil) : .unknown(because: "SSID file: \(error)")
  }
}

private func isInstalled(_ program: String) -> Bool {
  let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
  return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
}
