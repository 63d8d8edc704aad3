import ArgumentParser
import ControlProtocol
import Glibc
import JSON
import ProviderProtocol
import Terminal

struct Message: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "message",
    abstract: "Send a message to a tunnel's provider and print its reply.",
    discussion: """
      A message has the name of its type and a JSON value, which the provider's documentation describes; or it is bytes, from standard \
      input. A provider that does not run is started for the message.

      Example: `roamward message corp status`
      """)

  @OptionGroup var agent: AgentOptions
  @Argument(help: "Name of the tunnel.", completion: .tunnels) var tunnel: String
  @Argument(help: "Type of the message: statistics.") var type: String?
  @Argument(help: "Value of the message, as JSON.") var value: String?
  @Flag(help: "Send standard input as bytes, 32,768 at most.") var bytes = false

  func validate() throws {
    if bytes, type != nil { throw ValidationError("--bytes takes its message from standard input, without a type") }
    if !bytes, type == nil { throw ValidationError("name the type of the message, or use --bytes") }
  }

  func run() throws {
    let reply = try agent.ask(.message(tunnel: tunnel, content: try content().json))["content"] ?? .null
    if reply == .null { return }
    switch try MessageContent(json: reply) {
    case .bytes(let data): write(bytes: data)
    case .typed(_, let value): write(value.text(indented: true) + "\n")
    }
  }

  private func content() throws -> MessageContent {
    if bytes { return .bytes(try input()) }
    guard let type = Word(type ?? "") else {
      throw ValidationError("a type is a small letter, then small letters, digits, `-` and `.`")
    }
    guard let value else { return .typed(type, .null) }
    guard let json = try? JSON(parsing: Array(value.utf8)) else {
      throw ValidationError("the value is not JSON: quote a text for the shell and for JSON, as in '\"text\"'")
    }
    return .typed(type, json)
  }

  private func input() throws -> [UInt8] {
    var bytes: [UInt8] = []
    while case let byte = getchar(), byte != EOF {
      bytes.append(UInt8(truncatingIfNeeded: byte))
      if bytes.count > 32_768 { throw ValidationError("the message exceeds 32,768 bytes") }
    }
    return bytes
  }
}
