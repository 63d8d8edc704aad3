internal import CPAM
internal import GatewayLogin
internal import Glibc

/// The conversation of modules with the person (pam_conv(3)). The first question without echo gets the password; others are asked.
final class PAMConversation {
  private var password: [UInt8]?
  /// Asks the person; `nil`: there is no answer.
  private let ask: (String, Bool) -> [UInt8]?
  private var prompts = 0
  /// Messages of modules in their order.
  private(set) var notes = ""

  init(password: [UInt8], ask: @escaping (String, Bool) -> [UInt8]?) {
    self.password = password
    self.ask = ask
  }

  /// The most messages of one call.
  private static let messages = 32

  /// Calls `body` with the structure that libpam calls back by.
  func withStructure<R>(_ body: (UnsafePointer<pam_conv>) -> R) -> R {
    var structure = pam_conv(
      conv: { count, messages, responses, context in
        guard let messages, let responses, let context else { return PAM_CONV_ERR }
        return Unmanaged<PAMConversation>.fromOpaque(context).takeUnretainedValue().answer(Int(count), messages, responses)
      }, appdata_ptr: Unmanaged.passUnretained(self).toOpaque())
    return withExtendedLifetime(self) { withUnsafePointer(to: &structure) { body($0) } }
  }

  private func answer(
    _ count: Int, _ messages: UnsafeMutablePointer<UnsafePointer<pam_message>?>,
    _ responses: UnsafeMutablePointer<UnsafeMutablePointer<pam_response>?>
  ) -> Int32 {
    guard (1...Self.messages).contains(count),
      let memory = calloc(count, MemoryLayout<pam_response>.stride)?.bindMemory(to: pam_response.self, capacity: count)
    else { return PAM_CONV_ERR }
    for number in 0..<count {
      guard let message = messages[number]?.pointee, let text = copy(of: reply(to: message)) else {
        release(memory, count)
        return PAM_CONV_ERR
      }
      memory[number].resp = text.value
    }
    responses.pointee = memory
    return PAM_SUCCESS
  }

  /// The reply to a message; `none`: no text, which is right for a message that is no question.
  private enum Reply {
    case none
    case text([UInt8])
    case refusal
  }

  private func reply(to message: pam_message) -> Reply {
    let text = PAMReport.printable(message.msg.map { String(cString: $0) } ?? "")
    switch message.msg_style {
    case PAM_TEXT_INFO, PAM_ERROR_MSG:
      notes = PAMReport.printable(notes.isEmpty ? text : notes + "\n" + text, limit: PAMLimits.notes)
      return .none
    case PAM_PROMPT_ECHO_OFF:
      if let password {
        self.password = nil
        return .text(password)
      }
      return put(text, echo: false)
    case PAM_PROMPT_ECHO_ON: return put(text, echo: true)
    default: return .refusal
    }
  }

  private func put(_ text: String, echo: Bool) -> Reply {
    prompts += 1
    guard prompts <= PAMLimits.prompts else { return .refusal }
    let words = PAMReport.printable(notes.isEmpty ? text : notes + "\n" + text)
    notes = ""
    // A NUL would end the answer for a module.
    guard let answer = ask(words, echo), !answer.contains(0) else { return .refusal }
    return .text(answer)
  }

  /// A text as modules free it. `nil`: no conversation is possible.
  private func copy(of reply: Reply) -> (value: UnsafeMutablePointer<CChar>?, Void)? {
    switch reply {
    case .none: return (nil, ())
    case .refusal: return nil
    case .text(let bytes):
      guard let text = calloc(bytes.count + 1, 1)?.bindMemory(to: CChar.self, capacity: bytes.count + 1) else { return nil }
      for (index, byte) in bytes.enumerated() { text[index] = CChar(bitPattern: byte) }
      return (text, ())
    }
  }

  private func release(_ memory: UnsafeMutablePointer<pam_response>, _ count: Int) {
    for number in 0..<count { free(memory[number].resp) }
    free(memory)
  }
}
