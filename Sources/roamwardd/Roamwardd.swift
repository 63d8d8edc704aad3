@main enum Roamwardd { static func main() {} }
