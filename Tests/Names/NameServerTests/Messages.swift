import NetworkTypes

/// Messages as programs and name servers send them, and as they read them: written apart from what is tested.
enum Messages {
  static func name(_ text: String) -> [UInt8] {
    text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
  }

  static func words(_ values: Int...) -> [UInt8] { values.flatMap { [UInt8($0 >> 8 & 0xff), UInt8($0 & 0xff)] } }

  static func opt(payload: Int = 1232, ttl: Int = 0, options: [UInt8] = []) -> [UInt8] {
    [0] + words(41, payload, ttl >> 16, ttl & 0xffff, options.count) + options
  }

  static func question(
    _ name: String, type: Int = 1, id: Int = 0x1234, flags: Int = 0x0100, payload: Int? = nil, wantsSignatures: Bool = false,
    questionClass: Int = 1
  ) -> [UInt8] {
    let extra = payload.map { opt(payload: $0, ttl: wantsSignatures ? 0x8000 : 0) } ?? []
    return words(id, flags, 1, 0, 0, extra.isEmpty ? 0 : 1) + self.name(name) + words(type, questionClass) + extra
  }

  /// A record whose name is the question's.
  static func record(_ type: Int, _ data: [UInt8], ttl: Int = 300, name: [UInt8] = [0xc0, 12]) -> [UInt8] {
    name + words(type, 1, ttl >> 16, ttl & 0xffff, data.count) + data
  }

  static func a(_ text: String, ttl: Int = 300) -> [UInt8] { record(1, IPAddress(text)?.bytes ?? [], ttl: ttl) }

  /// The end of the question of a message.
  static func questionEnd(_ message: [UInt8]) -> Int {
    var offset = 12
    while message[offset] > 0 { offset += 1 + Int(message[offset]) }
    return offset + 5
  }

  /// The name that a message asks for.
  static func name(of message: [UInt8]) -> String {
    var labels: [String] = []
    var offset = 12
    while message[offset] > 0 {
      labels.append(String(decoding: message[(offset + 1)...(offset + Int(message[offset]))], as: UTF8.self))
      offset += 1 + Int(message[offset])
    }
    return labels.joined(separator: ".")
  }

  /// The answer of a server to a question that it got.
  static func answer(
    to question: [UInt8], _ records: [[UInt8]] = [], code: Int = 0, isTruncated: Bool = false, echoesEDNS: Bool = true,
    extra: [[UInt8]] = []
  ) -> [UInt8] {
    let hasEDNS = echoesEDNS && question[11] == 1
    let additional = extra + (hasEDNS ? [opt(payload: 4096)] : [])
    let flags = 0x8180 | code | (isTruncated ? 0x0200 : 0)
    return Array(question[..<2]) + words(flags, 1, records.count, 0, additional.count) + question[12..<questionEnd(question)]
      + records.flatMap { $0 } + additional.flatMap { $0 }
  }
}

/// A response, as a program reads it.
struct Reading: Equatable {
  var id: Int
  var flags: Int
  var question: [UInt8]
  var answers: [(type: Int, ttl: Int, data: [UInt8])] = []
  var hasEDNS = false
  var payload = 0
  var wantsSignatures = false
  var extendedCode = 0
  var reason: Int?
  var text = ""

  var code: Int { flags & 0xf | extendedCode << 4 }
  var isTruncated: Bool { flags & 0x0200 != 0 }
  var addresses: [String] { answers.compactMap { $0.type == 1 || $0.type == 28 ? IPAddress(bytes: $0.data)?.description : nil } }

  static func == (a: Self, b: Self) -> Bool { (a.id, a.flags, a.question, a.reason) == (b.id, b.flags, b.question, b.reason) }

  /// Fails where it is no well-formed response.
  init?(_ message: [UInt8]) {
    guard message.count >= 12 else { return nil }
    func word(_ offset: Int) -> Int? { offset + 1 < message.count ? Int(message[offset]) << 8 | Int(message[offset + 1]) : nil }
    guard let id = word(0), let flags = word(2), flags & 0x8000 != 0 else { return nil }
    self.id = id
    self.flags = flags
    guard word(4) == 1 else {
      question = []
      return
    }
    var offset = 12
    func skipName() -> Bool {
      while offset < message.count {
        let length = message[offset]
        if length == 0 { offset += 1; return true }
        if length >= 0xc0 { offset += 2; return true }
        offset += 1 + Int(length)
      }
      return false
    }
    guard skipName(), offset + 4 <= message.count else { return nil }
    offset += 4
    question = Array(message[12..<offset])
    let counts = [word(6) ?? 0, word(8) ?? 0, word(10) ?? 0]
    for (section, count) in counts.enumerated() {
      for _ in 0..<count {
        guard skipName(), let type = word(offset), let recordClass = word(offset + 2), let high = word(offset + 4),
          let low = word(offset + 6),
          let length = word(offset + 8), offset + 10 + length <= message.count
        else { return nil }
        let data = Array(message[offset + 10..<offset + 10 + length])
        offset += 10 + length
        if type == 41 {
          guard !hasEDNS, section == 2 else { return nil }
          hasEDNS = true
          payload = recordClass
          wantsSignatures = low & 0x8000 != 0
          extendedCode = high >> 8
          if data.count >= 6, data[0] == 0, data[1] == 15 {
            reason = Int(data[4]) << 8 | Int(data[5])
            text = String(decoding: data[6...], as: UTF8.self)
          }
        } else if section == 0 {
          answers.append((type, high << 16 | low, data))
        }
      }
    }
    guard offset == message.count else { return nil }
  }
}
