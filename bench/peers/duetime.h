// Common parts of the drivers for other simulators: duetime's plans and traces, and the distribution of queue lengths.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace duetime
{

[[noreturn]] inline void
Refuse(const std::string& message)
{
    std::cerr << "peer: " << message << "\n";
    std::exit(2);
}

inline int64_t
Picoseconds(double seconds)
{
    return std::llround(seconds * 1e12);
}

/// A wire in both directions between two nodes; in bit/s and picoseconds.
struct Link
{
    uint32_t a, b;
    uint64_t rate;
    int64_t delayPs;
};

/// The plan of a simulation: a file with a setting per line, "name value", and a wire per line, "link A B RATE DELAY".
class Plan
{
  public:
    explicit Plan(const std::string& path)
    {
        std::ifstream file(path);
        if (!file)
        {
            Refuse("cannot read " + path);
        }
        std::string line;
        while (std::getline(file, line))
        {
            std::istringstream words(line);
            std::string name;
            words >> name;
            if (name == "link")
            {
                Link link{};
                words >> link.a >> link.b >> link.rate >> link.delayPs;
                links.push_back(link);
            }
            else if (!name.empty())
            {
                words >> m_settings[name];
            }
            if (words.fail())
            {
                Refuse(path + ": not understood: " + line);
            }
        }
    }

    const std::string& Text(const std::string& name) const
    {
        auto found = m_settings.find(name);
        if (found == m_settings.end())
        {
            Refuse("the plan does not say " + name);
        }
        return found->second;
    }

    double Number(const std::string& name) const
    {
        return std::stod(Text(name));
    }

    /// Returns a setting in seconds as picoseconds.
    int64_t Time(const std::string& name) const
    {
        return Picoseconds(Number(name));
    }

    bool Is(const std::string& name) const
    {
        return Number(name) != 0;
    }

    std::vector<Link> links;

  private:
    std::map<std::string, std::string> m_settings;
};

/// A message of a trace.
struct Arrival
{
    int64_t startPs;
    uint32_t from, to;
    uint64_t bytes;
};

/// Returns the messages of a file start,src,dst,bytes[,deadline] with plain numbers (seconds, hosts, bytes), in its
/// order. Each size must be a multiple of `multiple` bytes.
inline std::vector<Arrival>
ReadTrace(const std::string& path, uint32_t hosts, uint64_t multiple = 1)
{
    std::ifstream file(path);
    std::string line;
    if (!file || !std::getline(file, line) || line.rfind("start,src,dst,bytes", 0) != 0)
    {
        Refuse(path + ": expected the header start,src,dst,bytes,deadline");
    }
    std::vector<Arrival> messages;
    while (std::getline(file, line))
    {
        std::replace(line.begin(), line.end(), ',', ' ');
        std::istringstream words(line);
        double start = 0;
        Arrival message{};
        words >> start >> message.from >> message.to >> message.bytes;
        if (words.fail() || message.from >= hosts || message.to >= hosts || message.bytes == 0)
        {
            Refuse(path + ": not understood: " + line);
        }
        if (message.bytes % multiple != 0)
        {
            Refuse(path + ": no multiple of " + std::to_string(multiple) + " bytes: " + line);
        }
        message.startPs = Picoseconds(start);
        messages.push_back(message);
    }
    return messages;
}

/// The time that a queue spent at each length.
class Lengths
{
  public:
    void Held(std::size_t length, double seconds)
    {
        if (m_held.size() <= length)
        {
            m_held.resize(length + 1);
        }
        m_held[length] += seconds;
    }

    double Mean() const
    {
        double area = 0;
        for (std::size_t length = 0; length < m_held.size(); length++)
        {
            area += length * m_held[length];
        }
        return area > 0 ? area / Time() : 0;
    }

    /// Returns the length that the queue did not exceed for this share of the time.
    std::size_t Quantile(double share) const
    {
        double time = Time();
        double below = 0;
        for (std::size_t length = 0; length < m_held.size(); length++)
        {
            below += m_held[length];
            if (below >= share * time)
            {
                return length;
            }
        }
        return m_held.empty() ? 0 : m_held.size() - 1;
    }

  private:
    double Time() const
    {
        double time = 0;
        for (double held : m_held)
        {
            time += held;
        }
        return time;
    }

    std::vector<double> m_held;
};

/// Writes a line for each message: the seconds from its start to its last byte's arrival, or an empty line for a
/// negative number. Returns false if the file could not be written.
inline bool
WriteEnds(const std::string& path, const std::vector<double>& ends)
{
    std::ofstream file(path);
    file.precision(13);
    for (double end : ends)
    {
        if (end >= 0)
        {
            file << end;
        }
        file << "\n";
    }
    return file.good();
}

} // namespace duetime
