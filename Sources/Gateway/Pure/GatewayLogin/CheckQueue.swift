package import GatewayCore
package import NetworkTypes

/// The checks of passwords and tokens, without IO: by the gateway, few more at once than there are threads that hash; and by the service of
/// the network, whose answers take seconds. Others wait in turn, as long as their clients do: a check that begins when its client is about
/// to give up would only make the next one late. A check holds its secret only in the phase that needs it.
package struct CheckQueue: Sendable {
  /// A check by the gateway.
  package enum Check: Equatable, Sendable {
    /// The name is `nil` if no user can have it.
    case password(GatewayName?, [UInt8])
    /// SHA-256 of a token.
    case token([UInt8])
  }

  /// The phase of a conversation's check. The first three have a place with the gateway, the others with the service.
  private enum Phase: Sendable {
    case waiting(Check, since: Moment)
    /// The gateway was asked. It answers a password with the hash to compare it with.
    case asked(password: [UInt8]?)
    /// A thread compares the password.
    case judged
    /// The password is checked by the service in turn; `nil`: that of a name without a user.
    case waitingForService([UInt8]?, IPAddress, since: Moment)
    /// The service checks it, and may ask questions.
    case atService
  }

  package enum Effect: Equatable, Sendable {
    case ask(AuthRequest)
    /// Compare a password with a hash that the gateway knows; with one that no password has if that is empty. The account if it is right,
    /// unless there is a refusal.
    case judge(UInt32, password: [UInt8], hash: String, LoginAccount?, LoginRefusal?)
    /// Too many wait, or it has waited for too long: this one is not checked.
    case busy(UInt32)
  }

  /// The longest time until a check begins. It is half of a client's patience (`SignInMachine.patience`): a hash takes seconds on a busy
  /// machine.
  package static let patience = Duration.seconds(10)

  private var phases: [UInt32: Phase] = [:]
  private var checks: WorkQueue
  private var serviceChecks = WorkQueue(atWork: PAMLimits.checks, waiting: AskedQuestions.limit)

  /// `atWork`: the checks by the gateway at once.
  package init(atWork: Int) { checks = WorkQueue(atWork: atWork, waiting: AskedQuestions.limit) }

  /// The conversations whose password is known here.
  package var secrets: Set<UInt32> {
    Set(
      phases.filter {
        switch $0.value {
        case .waiting(.password, _), .asked(.some), .waitingForService(.some, _, _): true
        case .waiting(.token, _), .asked(nil), .judged, .waitingForService(nil, _, _), .atService: false
        }
      }.keys)
  }

  package var isEmpty: Bool { phases.isEmpty }

  /// Whether it waits for the service.
  package func waitsForService(_ number: UInt32) -> Bool { if case .waitingForService? = phases[number] { true } else { false } }

  /// A client has sent a password or a token.
  package mutating func add(_ check: Check, of number: UInt32, from address: IPAddress, at now: Moment) -> [Effect] {
    guard phases[number] == nil else { return [] }
    phases[number] = .waiting(check, since: now)
    return refuse(checks.add(number, from: address)) + begin(at: now)
  }

  /// The service is to check a name without a user: the gateway has refused the password.
  package mutating func addDecoy(of number: UInt32, from address: IPAddress, at now: Moment) -> [Effect] {
    guard phases[number] == nil else { return [] }
    return addForService(nil, number, address, at: now)
  }

  /// The gateway has answered that the service checks this password. `nil`: none was asked about.
  package mutating func passOn(_ number: UInt32, from address: IPAddress, at now: Moment) -> [Effect]? {
    guard case .asked(let password?)? = phases[number] else { return nil }
    checks.end(number)
    return addForService(password, number, address, at: now)
  }

  private mutating func addForService(_ password: [UInt8]?, _ number: UInt32, _ address: IPAddress, at now: Moment) -> [Effect] {
    phases[number] = .waitingForService(password, address, since: now)
    return refuse(serviceChecks.add(number, from: address)) + begin(at: now)
  }

  private mutating func refuse(_ last: UInt32?) -> [Effect] {
    guard let last else { return [] }
    phases[last] = nil
    return [.busy(last)]
  }

  /// The gateway has answered with the hash of the name that was asked for.
  package mutating func credential(
    _ number: UInt32, hash: String, _ account: LoginAccount?, _ refusal: LoginRefusal?
  ) -> [Effect] {
    guard case .asked(let password?)? = phases[number] else { return [] }
    phases[number] = .judged
    return [.judge(number, password: password, hash: hash, account, refusal)]
  }

  /// The conversation has its answer; a check by the service goes on after a question.
  package mutating func answered(_ number: UInt32, _ answer: LoginAnswer) {
    if case .prompt = answer, case .atService? = phases[number] { return }
    end(number)
  }

  /// The conversation is over. `begin` follows: others may have its place.
  package mutating func end(_ number: UInt32) {
    phases[number] = nil
    checks.end(number)
    serviceChecks.end(number)
  }

  /// Begins the checks for which there is a place.
  package mutating func begin(at now: Moment) -> [Effect] {
    var effects: [Effect] = []
    while let number = checks.begin() {
      guard case .waiting(let check, let since)? = phases[number] else {
        checks.end(number)
        continue
      }
      guard now - since <= Self.patience else {
        checks.end(number)
        effects += refuse(number)
        continue
      }
      switch check {
      case .token(let hash):
        phases[number] = .asked(password: nil)
        effects.append(.ask(.token(number: number, hash: hash)))
      case .password(let name?, let password):
        phases[number] = .asked(password: password)
        effects.append(.ask(.credential(number: number, name: name)))
      // It takes the same time, so that a client cannot tell which names exist.
      case .password(nil, let password):
        phases[number] = .judged
        effects.append(.judge(number, password: password, hash: "", nil, .unknownName))
      }
    }
    while let number = serviceChecks.begin() {
      guard case .waitingForService(let password, let address, let since)? = phases[number] else {
        serviceChecks.end(number)
        continue
      }
      guard now - since <= Self.patience else {
        serviceChecks.end(number)
        effects += refuse(number)
        continue
      }
      phases[number] = .atService
      effects.append(
        .ask(password.map { .password(number: number, password: $0, source: address) } ?? .decoy(number: number, source: address)))
    }
    return effects
  }
}
