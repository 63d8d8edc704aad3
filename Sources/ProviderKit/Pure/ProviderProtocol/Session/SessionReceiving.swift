internal import JSON
public import NetworkTypes

extension ProviderSession {
  /// A message came from the provider. The protocol has no descriptors in this direction: `hasDescriptor` is a breach of it.
  public mutating func receive(_ bytes: [UInt8], hasDescriptor: Bool = false, at now: Moment) -> [Action] {
    guard state != .closed else { return [] }
    do throws(ProtocolViolation) {
      let message: ProviderMessage
      do throws(MessageError) { message = try ProviderMessage(decoding: bytes) } catch { throw .malformed(error) }
      if hasDescriptor { throw .unexpectedDescriptor(message.type) }
      return try take(message, at: now)
    } catch {
      return violate(error)
    }
  }

  private mutating func take(_ message: ProviderMessage, at now: Moment) throws(ProtocolViolation) -> [Action] {
    if case .hello(let versions, let program) = message { return try greet(versions, program, type: message.type) }
    guard state != .greeting else { throw outOfOrder(message) }
    switch message {
    case .log, .event, .keep, .transport, .validity: return try budgeted(message, at: now)
    case .reply(let id, let reply): return try replied(id, reply)
    case .asleep: return try slept(message)
    case .stopped, .failed: return try ended(message)
    case .ready, .reasserting: return try changed(message)
    case .withdraw(let id): return try withdrawn(id, at: now)
    default: return try requested(message, at: now)
    }
  }

  private func outOfOrder(_ message: ProviderMessage) -> ProtocolViolation { .outOfOrder(type: message.type, state: state.rawValue) }

  private mutating func greet(
    _ versions: ClosedRange<Int>, _ program: String, type: String
  ) throws(ProtocolViolation) -> [Action] {
    guard state == .greeting else { throw .outOfOrder(type: type, state: state.rawValue) }
    guard versions.contains(ProtocolLimits.version) else { throw .noCommonVersion(versions) }
    self.program = escaped(program)
    stateDeadline = nil
    return [sent(.hello(version: ProtocolLimits.version, tunnel: tunnel))] + enter(.idle)
  }

  private mutating func budgeted(_ message: ProviderMessage, at now: Moment) throws(ProtocolViolation) -> [Action] {
    let (passes, dropped) = try budget.take(at: now)
    guard passes else { return [] }
    let notice: [Action] = dropped > 0 ? [.dropped(dropped)] : []
    switch message {
    case .log(var line):
      line.text = escaped(line.text)
      return notice + [.log(line)]
    case .event(let name, let data): return notice + [.event(name: name, data)]
    case .keep(let bytes): return notice + [.keep(bytes)]
    // One of a run that is over tells nothing.
    case .transport(let text): return isRunning ? notice + [.transport(escaped(text))] : notice
    case .validity(let validity):
      let escaped = Validity(escaped(validity.name), from: validity.start, until: validity.end)
      return isRunning ? notice + [.validity(escaped)] : notice
    default: return notice
    }
  }

  private mutating func replied(_ id: UInt32, _ reply: MessageReply) throws(ProtocolViolation) -> [Action] {
    guard id <= lastMessage else { throw .unknownIdentifier(id) }
    // Its time was over.
    guard messages.removeValue(forKey: id) != nil else { return [] }
    return [.replied(id: id, reply.mapError { Refusal(code: $0.code, text: escaped($0.text)) })]
  }

  private mutating func slept(_ message: ProviderMessage) throws(ProtocolViolation) -> [Action] {
    guard sleeps > 0 else { throw outOfOrder(message) }
    sleeps -= 1
    guard sleeps == 0, sleepDeadline != nil else { return [] }
    sleepDeadline = nil
    return [.asleep(inTime: true)]
  }

  private mutating func ended(_ message: ProviderMessage) throws(ProtocolViolation) -> [Action] {
    switch message {
    case .stopped:
      guard state == .stopping else { throw outOfOrder(message) }
      return endRun(.stopped(inTime: true))
    case .failed(var failure):
      guard isRunning else { throw outOfOrder(message) }
      // It crossed with `stop`, which has no other answer then.
      if state == .stopping { return endRun(.stopped(inTime: true)) }
      failure.text = escaped(failure.text)
      return endRun(.failed(failure))
    default: throw outOfOrder(message)
    }
  }

  private mutating func changed(_ message: ProviderMessage) throws(ProtocolViolation) -> [Action] {
    // It crossed with `stop`.
    if state == .stopping { return [] }
    switch message {
    case .ready:
      let hasPending = requests.values.contains(.settings)
      guard state == .starting || state == .reasserting, hasSettings, !hasPending else { throw outOfOrder(message) }
      stateDeadline = nil
      pausedStart = nil
      return enter(.connected)
    case .reasserting(let code, let text):
      guard state == .connected || state == .reasserting else { throw outOfOrder(message) }
      return enter(.reasserting) + [.reasserting(code: code, text: escaped(text))]
    default: throw outOfOrder(message)
    }
  }

  private mutating func withdrawn(_ id: UInt32, at now: Moment) throws(ProtocolViolation) -> [Action] {
    guard id <= lastRequest else { throw .unknownIdentifier(id) }
    switch requests[id] {
    // The answer crossed with it, or the run is over.
    case nil: return []
    case .question:
      requests[id] = nil
      resumeStart(at: now)
      return [.withdraw(id: id)]
    default: throw .wrongAnswer(type: "withdraw", id: id)
    }
  }

  private mutating func requested(_ message: ProviderMessage, at now: Moment) throws(ProtocolViolation) -> [Action] {
    guard isRunning, let (id, request) = Self.request(of: message) else { throw outOfOrder(message) }
    guard id > lastRequest else { throw .identifierReused(id) }
    lastRequest = id
    // It crossed with `stop`, which ends all requests.
    if state == .stopping { return [] }
    let questions = requests.values.count { if case .question = $0 { true } else { false } }
    let isQuestion = if case .question = request { true } else { false }
    guard requests.count < ProtocolLimits.requests, !isQuestion || questions < ProtocolLimits.questions else { throw .tooManyRequests }
    switch message {
    case .settings(_, let settings):
      requests[id] = request
      return [.apply(id: id, settings)]
    case .openXFRM:
      requests[id] = request
      return [.openXFRM(id: id)]
    case .openSocket(_, let transport, let remote):
      requests[id] = request
      return [.openSocket(id: id, transport, remote)]
    case .resolve(_, let name):
      requests[id] = request
      return [.resolve(id: id, name)]
    case .ask(_, var question):
      guard mayAsk else { return [sent(.answer(id: id, .unavailable))] }
      requests[id] = request
      pauseStart(at: now)
      question.prompt = escaped(question.prompt, keepingLines: true)
      return [.ask(id: id, question)]
    default:
      requests[id] = request
      return [.openDevice(id: id)]
    }
  }

  private static func request(of message: ProviderMessage) -> (UInt32, Request)? {
    switch message {
    case .settings(let id, _): (id, .settings)
    case .openDevice(let id): (id, .device)
    case .openXFRM(let id): (id, .xfrm)
    case .openSocket(let id, _, _): (id, .socket)
    case .resolve(let id, _): (id, .addresses)
    case .ask(let id, let question): (id, .question(question.kind))
    default: nil
    }
  }
}
