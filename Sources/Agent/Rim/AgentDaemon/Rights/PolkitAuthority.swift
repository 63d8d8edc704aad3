package import ControlProtocol
internal import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// Asks polkit over the system bus, without waiting: the agent's loop goes on meanwhile.
package final class PolkitAuthority {
  private static let service = "org.freedesktop.PolicyKit1"
  private static let path = "/org/freedesktop/PolicyKit1/Authority"
  private static let interface = "org.freedesktop.PolicyKit1.Authority"
  /// AllowUserInteraction.
  private static let allowsInteraction: UInt32 = 1
  /// Open questions of a user, and of all users: each holds a request and may hold a prompt.
  private static let (most, mostTogether) = (4, 32)

  /// The time limits of an answer.
  package struct Limits {
    package var alone = Duration.seconds(5)
    /// With a person who enters a password.
    package var interactive = Duration.seconds(120)

    package init() {}
  }

  private let bus: SystemBus
  private let limits: Limits
  private var last = 0
  /// The users of the open questions, by number.
  private var open: [Int: UInt32] = [:]

  package init(_ bus: SystemBus, limits: Limits = Limits()) {
    self.bus = bus
    self.limits = limits
  }

  /// Calls back once, within the limit. The returned function ends the question without a call back.
  package func ask(
    _ action: String, about caller: Caller, interactively: Bool, then done: @escaping (PolkitAnswer) -> Void
  ) -> () -> Void {
    guard let subject = caller.subject else {
      done(.failed("the caller's process is not known"))
      return {}
    }
    guard bus.isConnected else {
      done(.absent(bus.obstacle ?? "the agent has no connection to the system bus"))
      return {}
    }
    guard open.count < Self.mostTogether, open.values.count(where: { $0 == caller.user }) < Self.most else {
      done(.failed("too many requests wait for an answer; try again later"))
      return {}
    }
    last += 1
    let number = last
    open[number] = caller.user
    let identifier = "roamward-\(number)"
    let arguments: [BusArgument] = [
      subject.argument(of: caller.user), .string(action), .array(of: "{ss}", []), .uint32(interactively ? Self.allowsInteraction : 0),
      .string(identifier),
    ]
    let limit = interactively ? limits.interactive : limits.alone
    bus.call(Self.service, Self.path, Self.interface, "CheckAuthorization", arguments, within: limit, startsService: true) {
      [weak self] result in
      guard let self, open.removeValue(forKey: number) != nil else { return }
      if case .failure(let error) = result, error.isTimeout { cancel(identifier) }
      done(Self.answer(result))
    }
    return { [weak self] in
      guard let self, open.removeValue(forKey: number) != nil else { return }
      cancel(identifier)
    }
  }

  /// Ends all questions: the connection to the bus has ended, and no answer comes over it.
  package func forget() { open = [:] }

  private func cancel(_ identifier: String) {
    bus.call(Self.service, Self.path, Self.interface, "CancelCheckAuthorization", [.string(identifier)], within: limits.alone) { _ in }
  }

  /// `(is_authorized, is_challenge, details)`.
  private static func answer(_ result: Result<[BusValue], BusError>) -> PolkitAnswer {
    switch result {
    case .success(let values):
      guard let isAllowed = values.first?[0]?.bool, let isChallenge = values.first?[1]?.bool else {
        return .failed("its answer cannot be read")
      }
      return isAllowed ? .allowed : isChallenge ? .needsAuthentication : .denied
    case .failure(let error) where error.isAbsence: return .absent("no such service is on the system bus")
    case .failure(let error) where error.isTimeout: return .unanswered
    case .failure(let error): return .failed(error.description)
    }
  }
}

extension Caller.Subject {
  /// polkit's structure `Subject`: `(sa{sv})`.
  fileprivate func argument(of user: UInt32) -> BusArgument {
    switch self {
    case .process(let process, let startTime):
      .structure([
        .string("unix-process"),
        .properties(["pid": .uint32(UInt32(bitPattern: process)), "start-time": .uint64(startTime), "uid": .int32(Int32(bitPattern: user))]
        ),
      ])
    case .busName(let name): .structure([.string("system-bus-name"), .properties(["name": .string(name)])])
    }
  }
}
