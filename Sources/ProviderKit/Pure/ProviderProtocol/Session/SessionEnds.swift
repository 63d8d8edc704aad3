internal import NetworkTypes

extension ProviderSession {
  mutating func enter(_ next: State) -> [Action] {
    guard state != next else { return [] }
    state = next
    return [.stateChanged(next)]
  }

  /// A message whose values are within bounds by their types.
  func sent(_ message: AgentMessage, attaching attachment: Attachment? = nil) -> Action {
    do throws(Unsendable) {
      return try sending(message, attaching: attachment)
    } catch {
      // Unreachable: these messages contain words and numbers alone. The provider would see an empty message, and end.
      return .send([], attaching: nil)
    }
  }

  func sending(_ message: AgentMessage, attaching attachment: Attachment? = nil) throws(Unsendable) -> Action {
    do throws(MessageError) {
      let bytes = try message.encoded()
      // A message that the provider would refuse is the agent's mistake, and is found here.
      _ = try AgentMessage(decoding: bytes)
      return .send(bytes, attaching: attachment)
    } catch {
      throw .malformed(error)
    }
  }

  /// An answer to a request that ended with its run needs nothing; one to a request that never was is the agent's mistake.
  func late(_ id: UInt32) throws(Unsendable) -> [Action] {
    guard id <= lastRequest, requests[id] == nil else { throw .noSuchRequest(id) }
    return []
  }

  /// Forgets the provider's requests: answers to them are not sent any more.
  mutating func dropRequests() -> [Action] {
    let questions = requests.filter { if case .question = $0.value { true } else { false } }.keys.sorted()
    requests = [:]
    pausedStart = nil
    return questions.map { .withdraw(id: $0) }
  }

  /// The run is over, the channel is not.
  mutating func endRun(_ end: RunEnd) -> [Action] {
    let withdrawn = dropRequests()
    stateDeadline = nil
    return withdrawn + endSleep(inTime: true) + enter(.idle) + [.runEnded(end)]
  }

  /// The end of the channel, and of the run if there is one.
  mutating func close(_ end: RunEnd) -> [Action] {
    let (wasRunning, wasGreeting) = (isRunning, state == .greeting)
    var actions = dropRequests() + endSleep(inTime: true)
    for id in messages.keys.sorted() {
      actions.append(.replied(id: id, .failure(Refusal(code: "provider-ended", text: "the provider of \(tunnel) ended"))))
    }
    messages = [:]
    stateDeadline = nil
    actions += enter(.closed)
    if wasRunning { actions.append(.runEnded(end)) }
    if wasGreeting, case .failed(let failure) = end { actions.append(.neverGreeted(failure)) }
    return actions + [.close]
  }

  mutating func violate(_ violation: ProtocolViolation) -> [Action] {
    let failure = TunnelFailure(
      code: "protocol-error", text: "the provider of \(tunnel) broke the protocol: \(violation); update or repair it", help: .nobody)
    return [.violated(violation)] + close(.failed(failure))
  }

  private mutating func endSleep(inTime: Bool) -> [Action] {
    guard sleepDeadline != nil else { return [] }
    sleepDeadline = nil
    return [.asleep(inTime: inTime)]
  }

  // MARK: The start's time

  mutating func pauseStart(at now: Moment) {
    guard state == .starting, pausedStart == nil, let deadline = stateDeadline else { return }
    pausedStart = deadline - now
    stateDeadline = nil
  }

  mutating func resumeStart(at now: Moment) {
    let isAsking = requests.values.contains { if case .question = $0 { true } else { false } }
    guard let rest = pausedStart, !isAsking else { return }
    pausedStart = nil
    stateDeadline = now + rest
  }
}
