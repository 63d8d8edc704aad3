/// A client of a SimpleTunnel server for flows of applications, as a value: bytes of the server and events of applications go in, actions
/// come out. Insecure, as the protocol.
public struct SimpleTunnelFlowClient: Sendable {
  public enum Action: Hashable, Sendable {
    /// Send bytes to the server. A stream that does not take all of them at once is told by `fill`.
    case send([UInt8])
    /// The server has opened a flow, or says why not.
    case opened(UInt32, SimpleTunnelMessage.OpenResult)
    /// Do this at the application's end of a flow that is open.
    case endpoint(UInt32, SimpleTunnelFlow.Action)
    /// The server's bytes are no messages: close the stream.
    case breakOff
  }

  private var frames = SimpleTunnelFrames()
  private var flows = SimpleTunnelFlows()
  private var opening: Set<UInt32> = []

  public init() {}

  /// Whether no flow has this identifier.
  public func isFree(_ identifier: UInt32) -> Bool { !flows.has(identifier) && !opening.contains(identifier) }

  /// Asks for a flow. The identifier is free, and random: other clients of the sample have their own, by chance the same.
  public mutating func open(_ target: SimpleTunnelMessage.Target, as identifier: UInt32) -> [Action] {
    opening.insert(identifier)
    return send(.open(target), identifier)
  }

  /// Nobody waits for a flow any more that the server has not opened.
  public mutating func giveUp(_ identifier: UInt32) -> [Action] {
    opening.remove(identifier) == nil ? [] : send(.close(.all), identifier)
  }

  /// Something happened at the application's end of a flow.
  public mutating func take(_ event: SimpleTunnelFlow.Event, of identifier: UInt32) -> [Action] {
    acted(flows.take(event, of: identifier))
  }

  /// Bytes came from the server.
  public mutating func receive(_ bytes: [UInt8]) -> [Action] {
    do throws(SimpleTunnelFrames.Refusal) {
      return try frames.receive(bytes).flatMap { take($0) }
    } catch {
      return [.breakOff]
    }
  }

  /// The stream to the server has not taken all bytes at once.
  public mutating func fill() -> [Action] { acted(flows.fill()) }
  public mutating func drain() -> [Action] { acted(flows.drain()) }

  private mutating func take(_ message: SimpleTunnelMessage) -> [Action] {
    let id = message.identifier
    switch message.body {
    case .openResult(let result, _):
      guard opening.remove(id) != nil else { return [] }
      return [.opened(id, result)] + (result == .success ? acted(flows.add(id)) : [])
    case .close where opening.remove(id) != nil: return [.opened(id, .internalError)]
    default: return acted(flows.take(.message(message.body), of: id))
    }
  }

  private func acted(_ actions: [SimpleTunnelFlows.Action]) -> [Action] {
    actions.flatMap { action in
      switch action {
      case .tell(let message): send(message.body, message.identifier)
      case .endpoint(let identifier, let action): [Action.endpoint(identifier, action)]
      }
    }
  }

  private func send(_ body: SimpleTunnelMessage.Body, _ id: UInt32) -> [Action] {
    SimpleTunnelFrames.frame(SimpleTunnelMessage(identifier: id, body: body)).map { [.send($0)] } ?? []
  }
}
