internal import NetworkTypes
internal import ProviderProtocol

/// The functions that backends call: to begin, and to pass on what comes from the agent.
extension ProviderHost {
  /// Makes the provider and sends the first message. The host does not retain it.
  package func begin<Provider: TunnelProvider>(_ type: Provider.Type, program: String) -> Provider {
    let provider = Provider(host: self)
    self.provider = provider
    do throws(ProtocolViolation) {
      backend.send(try ProviderEndpoint.hello(program: program))
    } catch {
      backend.end(reason: "the program's name: \(error)")
    }
    return provider
  }

  /// A message came, with its descriptor.
  package func receive(_ bytes: [UInt8], _ descriptor: AnyObject?) {
    let event: ProviderEndpoint.Event
    do throws(ProtocolViolation) {
      event = try endpoint.receive(bytes, hasDescriptor: descriptor != nil)
    } catch {
      return backend.end(reason: "the agent broke the protocol: \(error)")
    }
    switch event {
    case .greeted(let tunnel): self.tunnel = tunnel
    case .credential(let name): credentials[name] = descriptor
    case .start(let request): provider?.start(request)
    case .stop(let reason):
      refusePending()
      provider?.stop(reason)
    case .sleep: sleep()
    case .wake: provider?.wake()
    case .network(let path): provider?.networkChanged(path)
    case .message(let id, let content): receive(content, id: id)
    case .applied, .refused, .device, .xfrm, .socket, .addresses, .answer: answered(event, descriptor)
    case .late: break
    }
  }

  /// Fires the timers that are due.
  package func advance() {
    let now = now
    let due = timers.filter { $0.at <= now }.sorted { $0.at < $1.at }
    timers.removeAll { $0.at <= now }
    let run = run
    for one in due {
      one.timer.fire()
      // A timer before it may have ended the run.
      guard self.run == run else { break }
      if !one.timer.isCancelled { timers.append((now + one.timer.interval, one.timer)) }
    }
    rearm()
  }

  private func sleep() {
    guard let provider else { return }
    var isDone = false
    provider.sleep { [weak self] in
      if !isDone { self?.send(.asleep) }
      isDone = true
    }
  }

  private func receive(_ content: MessageContent, id: UInt32) {
    provider?.receive(content) { [weak self] reply in
      // The first reply counts.
      guard let self, endpoint.isWaiting(forReply: id) else { return }
      do throws(ProtocolViolation) {
        backend.send(try endpoint.send(.reply(id: id, reply)))
      } catch {
        let refusal = Refusal(code: "provider-error", text: "the provider's reply is no message: \(error)")
        if let bytes = try? endpoint.send(.reply(id: id, .failure(refusal))) { backend.send(bytes) }
      }
    }
  }

  private func answered(_ event: ProviderEndpoint.Event, _ descriptor: AnyObject?) {
    switch event {
    case .applied(let id, let refused):
      guard case .settings(let settings, let completion) = pending.removeValue(forKey: id) else { return }
      recordApplied(settings)
      completion(.success(refused))
    case .refused(let id, let refusal): if let completion = pending.removeValue(forKey: id) { answer(completion, by: refusal) }
    case .device(let id, let interface, let mtu):
      guard case .device(let completion) = pending.removeValue(forKey: id) else { return }
      guard let flow = descriptor.flatMap({ backend.flow($0, interface: interface, mtu: mtu) }) else {
        return completion(.failure(Refusal(code: "unusable", text: "the agent's descriptor is no device")))
      }
      flows.append(flow)
      completion(.success(flow))
    case .xfrm(let id, let link):
      guard case .xfrm(let completion) = pending.removeValue(forKey: id) else { return }
      completion(.success(link))
    case .socket(let id):
      guard case .socket(let transport, let remote, let completion) = pending.removeValue(forKey: id) else { return }
      guard let socket = descriptor.flatMap({ backend.socket($0, transport, remote: remote) }) else {
        return completion(.failure(Refusal(code: "unusable", text: "the agent's descriptor is no socket")))
      }
      sockets.append(socket)
      completion(.success(socket))
    case .addresses(let id, let addresses):
      guard case .addresses(let completion) = pending.removeValue(forKey: id) else { return }
      completion(.success(addresses))
    case .answer(let id, let outcome):
      guard case .answer(let completion) = pending.removeValue(forKey: id) else { return }
      completion(meaning(of: outcome, descriptor))
    default: break
    }
  }

  private func meaning(of outcome: AnswerOutcome, _ descriptor: AnyObject?) -> Answer {
    switch outcome {
    case .answered:
      guard let descriptor else { return .agreed }
      return backend.secret(descriptor).map { .secret($0) } ?? .unanswered
    case .declined: return .declined
    case .unavailable, .expired: return .unanswered
    }
  }

  func answer(_ completion: Completion, by refusal: Refusal) {
    switch completion {
    case .settings(_, let handler): handler(.failure(refusal))
    case .device(let handler): handler(.failure(refusal))
    case .xfrm(let handler): handler(.failure(refusal))
    case .socket(_, _, let handler): handler(.failure(refusal))
    case .addresses(let handler): handler(.failure(refusal))
    case .answer(let handler): handler(.unanswered)
    }
  }
}
