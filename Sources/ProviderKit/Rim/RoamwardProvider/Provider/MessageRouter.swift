public import JSON
public import ProviderProtocol

/// Handlers of applications' messages, by type. Call `route` in `TunnelProvider.receive`.
///
/// All handlers of a type run, in the order in which they were added. The first reply counts; the host ignores others.
public final class MessageRouter {
  public typealias Handler = (JSON, @escaping (MessageReply) -> Void) -> Void

  /// A handler that was added, for `remove`.
  public struct Registration: Hashable, Sendable {
    fileprivate let number: Int
  }

  private var handlers: [(type: Word, number: Int, handler: Handler)] = []
  private var next = 0

  public init() {}

  /// Adds a handler for a type.
  @discardableResult
  public func on(_ type: Word, _ handler: @escaping Handler) -> Registration {
    next += 1
    handlers.append((type, next, handler))
    return Registration(number: next)
  }

  /// Removes a handler. One that was removed before is ignored.
  public func remove(_ registration: Registration) { handlers.removeAll { $0.number == registration.number } }

  /// Removes all handlers of a type.
  public func removeAll(_ type: Word) { handlers.removeAll { $0.type == type } }

  /// The types with handlers, each once, in their order.
  public var types: [Word] { Set(handlers.map(\.type)).sorted() }

  /// Gives a message to the handlers of its type, and returns their number. Without one, and for bytes, the reply is the refusal
  /// `unknown-type`.
  @discardableResult
  public func route(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) -> Int {
    guard case .typed(let type, let value) = message else {
      reply(.failure(Refusal(code: "unknown-type", text: "this provider takes messages with a type: \(known)")))
      return 0
    }
    let found = handlers.filter { $0.type == type }
    if found.isEmpty { reply(.failure(Refusal(code: "unknown-type", text: "this provider does not know \(type), but \(known)"))) }
    for one in found { one.handler(value, reply) }
    return found.count
  }

  private var known: String { types.isEmpty ? "none" : types.prefix(20).map(\.description).joined(separator: ", ") }
}
