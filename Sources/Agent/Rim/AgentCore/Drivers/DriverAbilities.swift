internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// A driver that treats a change of the network below as more than a reason to probe the peer.
protocol RoamingDriver: TunnelDriver {
  /// Verifies the peer of a connected tunnel on a new or returned network: earlier answers do not count.
  func reassert(on underlay: LinkFacts?)
  /// Begins new sessions with the known endpoints; resolves them again meanwhile.
  func renewSessions(on underlay: LinkFacts?)
  /// Takes in new facts of the same network, for example its name servers.
  func learn(_ underlay: LinkFacts?)
}

/// A driver whose tunnel can be in place without a session.
protocol ArmingDriver: TunnelDriver {
  /// Starts without a session; reports `prepared` or `failed`. Names are resolved meanwhile, and no failure of that is reported.
  func arm(on underlay: LinkFacts?)
  /// Discards all sessions by a step of the next plan, and begins none. On another network it resolves names again.
  func rearm(on underlay: LinkFacts?)
  /// Begins sessions from a device without peers: with the known endpoints, while names are resolved again. A pass follows anyway.
  func open(on underlay: LinkFacts?)
  /// Handles packets that an armed tunnel could not send: its endpoint may have no address yet.
  func packetsCame(on underlay: LinkFacts?)
}

/// A driver whose sessions the kernel's state of the device shows.
protocol SessionDriver: TunnelDriver {
  /// Whether peers need new sessions, by a step of the next plan. Until then no handshake of the device counts as an answer.
  var wantsNewSessions: Bool { get }
  /// Records that the step was applied, or was needless.
  func sessionsBegan()
  /// The present state of its device alone; `nil`: the device does not show whether the peer answers.
  func readDevice() -> WireGuardState?
  /// Whether the kernel's state of the device shows an answer of the peer.
  func isAnswered(by state: WireGuardState?) -> Bool
  /// Notes the result of an attempt, to select the next address of an endpoint.
  func recordAnswer(_ isAnswered: Bool)
}

/// A driver whose tunnel has ports, here and at its peers.
protocol EndpointDriver: TunnelDriver {
  /// Its peers' endpoints, as far as the agent knows their addresses.
  var endpoints: [(address: IPAddress, port: UInt16)] { get }
  /// The program that has the port of its configuration; it listens at another one. `nil`: none.
  var portHolder: PortHolder? { get }
}

/// A driver that learns of an awaited answer only by asking for it.
protocol PolledDriver: TunnelDriver {
  /// Repeats an unanswered query; called from time to time while an answer is awaited.
  func askAgain()
}

/// A driver with deadlines of its own.
protocol TimedDriver: TunnelDriver {
  /// The moment at which it has something to do by itself (`advance`); `nil`: never.
  var nextDeadline: Moment? { get }
  /// Does what is due.
  func advance()
}

/// A driver that samples a tunnel that is up.
protocol SamplingDriver: TunnelDriver {
  /// When `sample` is to be called; `nil`: never.
  var nextSample: Moment? { get }
  /// Takes a sample; returns the event that follows from it.
  func sample() -> TunnelMachine.Event?
}

/// A driver whose provider brings settings.
protocol SettingsDriver: TunnelDriver {
  /// The settings that the provider has brought, beside those of the policy.
  var brought: BroughtSettings { get }
  /// The kernel and the DNS backend have everything that the tunnel's level requires.
  func applied()
}

/// A driver whose `tearDown` takes time.
protocol CuttableDriver: TunnelDriver {
  /// Kills what runs, and begins nothing else: the time for `tearDown` is over.
  func cutShort()
}

/// A driver, and each of its abilities, looked up once; `nil`: it does not have this one. It is one reference, because each use would copy
/// them all.
final class DriverAbilities {
  let driver: any TunnelDriver
  let roaming: (any RoamingDriver)?
  let arming: (any ArmingDriver)?
  let sessions: (any SessionDriver)?
  let ports: (any EndpointDriver)?
  let polled: (any PolledDriver)?
  let timed: (any TimedDriver)?
  let sampling: (any SamplingDriver)?
  let settings: (any SettingsDriver)?
  let cuttable: (any CuttableDriver)?

  init(_ driver: any TunnelDriver) {
    self.driver = driver
    roaming = driver as? any RoamingDriver
    arming = driver as? any ArmingDriver
    sessions = driver as? any SessionDriver
    ports = driver as? any EndpointDriver
    polled = driver as? any PolledDriver
    timed = driver as? any TimedDriver
    sampling = driver as? any SamplingDriver
    settings = driver as? any SettingsDriver
    cuttable = driver as? any CuttableDriver
  }

  /// Carries out an effect of the machine; without the ability for it, by what every driver can do.
  func carryOut(_ effect: TunnelMachine.Effect, on underlay: LinkFacts?) {
    switch effect {
    case .prepare: driver.prepare(on: underlay)
    case .arm: if let arming { arming.arm(on: underlay) } else { driver.prepare(on: underlay) }
    // Without sessions there are none to discard.
    case .rearm: arming?.rearm(on: underlay)
    case .open: if let arming { arming.open(on: underlay) } else { driver.probePeer(on: underlay) }
    case .probePeer: driver.probePeer(on: underlay)
    case .reassert: if let roaming { roaming.reassert(on: underlay) } else { driver.probePeer(on: underlay) }
    case .renewSessions: if let roaming { roaming.renewSessions(on: underlay) } else { driver.probePeer(on: underlay) }
    case .tearDown: driver.tearDown()
    }
  }
}
